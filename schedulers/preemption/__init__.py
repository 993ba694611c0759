"""Preemption laws, one a file: who gives way when the KV cache is full, and how."""
