"""The engine model's core: pure, on a clock that is handed in."""
