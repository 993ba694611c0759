"""The front door: the headway command, and the small public facade."""
