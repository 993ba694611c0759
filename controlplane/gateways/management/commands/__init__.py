"""Django commands of this app."""
