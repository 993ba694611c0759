"""What ``headway verify`` prints: a table a method, and which bars are missed."""

MISSED = 1
"""The exit code where a bar is missed."""
