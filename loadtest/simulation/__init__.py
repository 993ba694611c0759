"""A load test against the engine model, in virtual time: same schedule, law and windows."""
