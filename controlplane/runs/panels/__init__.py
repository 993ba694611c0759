"""Panels: what a run's page draws. One file a figure."""
