"""``headway reproduce``: what it prints and writes, and its other two ways to play."""
