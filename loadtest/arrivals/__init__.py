"""Arrivals: when requests are asked. One file a process."""
