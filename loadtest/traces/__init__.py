"""Traces of real traffic: who asked when, and how much. One file a format."""
