"""A run by several machines: its slices, carried by Celery workers and led over the broker."""
