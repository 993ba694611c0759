"""Plants: small servers in virtual time, on which concurrency laws are judged."""
