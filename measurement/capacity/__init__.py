"""Capacity: how much load an endpoint carries, by one method a file, each with its assumptions."""
