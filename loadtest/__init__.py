"""Load test: makes load, judges it."""
