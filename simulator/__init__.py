"""Simulator: the continuous-batching engine model, one core in virtual time or behind a server."""
