"""A run by several hosts: its slices, carried by Celery workers and led over the broker."""
