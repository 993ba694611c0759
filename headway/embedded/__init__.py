"""Embedded: everything Headway needs on one machine, started and ended together."""
