"""What was done, by whom, to what: an append-only log, chained by hash."""
