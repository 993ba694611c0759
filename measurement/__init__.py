"""Measurement: what every number means, computed by one piece of code wherever it runs."""
