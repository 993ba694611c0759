"""A source system's experiment over HTTP: a load test against the engine model as a server."""
