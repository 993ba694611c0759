"""Gateways: what each is told, and what each says."""
