"""Commands: one module a subcommand of `headway`."""
