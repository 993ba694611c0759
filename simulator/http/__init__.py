"""HTTP/1.1 for the engine, as a raw protocol: a framework would cost more than the model."""
