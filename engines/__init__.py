"""Engines: how one talks to an inference engine."""
