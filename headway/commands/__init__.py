"""The subcommands of the headway command, one file each."""
