"""Signals: what each kind of engine reports of itself. One file a kind."""
