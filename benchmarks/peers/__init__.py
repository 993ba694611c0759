"""Other load generators beside ours, against a server that knows the truth."""
