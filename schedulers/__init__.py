"""Schedulers: the control laws, as pure arithmetic that knows nothing of where it runs."""
