"""Two policy versions asked the same on equal engines, and judged block by block."""
