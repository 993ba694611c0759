"""What ``headway policy`` does, one verb a function."""
