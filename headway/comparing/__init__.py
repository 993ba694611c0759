"""What ``headway ab`` is made of: arguments become an order, its news become lines."""
