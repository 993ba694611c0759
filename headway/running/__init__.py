"""What ``headway run`` is made of: arguments become a scenario, news become lines."""
