"""The five source systems: each one's own experiment, in virtual time."""
