"""Transports: bytes to an engine and stamped bytes back."""
