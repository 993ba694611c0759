"""Comparing two policies: randomised swap blocks and a confidence sequence."""
