"""Runs: launching, supervising, storing, streaming and judging load tests."""
