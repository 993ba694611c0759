"""Source systems played and stored: who asked, how it went, what came of it, and once more."""
