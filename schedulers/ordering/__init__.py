"""Ordering laws, one a file: which of those that wait is next."""
