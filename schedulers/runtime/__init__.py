"""Runtime: the few mutable cells that hold a law to real concurrency."""
