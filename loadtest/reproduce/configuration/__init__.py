"""The queueing source's own JSON configuration: read, linted, converted, played."""
