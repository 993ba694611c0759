"""A/B: two policy versions compared block by block, stored, watched and shown."""
