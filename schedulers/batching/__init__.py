"""Batching laws, one a file: what one engine step may hold."""
