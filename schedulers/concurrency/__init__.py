"""Concurrency: how many requests may be in flight. One file a law."""
