"""Sweeps: a ladder of loads against one endpoint or the engine model, and what it says."""
