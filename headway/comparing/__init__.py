"""What ``headway compare`` is made of."""
