"""Rendering: a policy as an engine's own flags and configuration, one engine a file."""
