"""How the columns of an experiment look wherever they are drawn."""

from __future__ import annotations

LINES = (
    ("Claimed", "s0", "p95"),
    ("Reference law", "s2", "none"),
    ("Corrected law", "s1", "none"),
    ("Best fixed setting", "s3", "p50"),
    ("Optimum", "s5", "p95"),
)
"""In the order of a row's cells: label, colour, dash."""
