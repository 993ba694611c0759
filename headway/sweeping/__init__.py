"""What ``headway sweep`` and ``headway capacity`` are made of."""
