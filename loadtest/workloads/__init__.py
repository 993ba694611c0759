"""Workloads: what is asked. One file a kind."""
