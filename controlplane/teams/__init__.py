"""Who may do what: accounts, teams, roles and API tokens."""
