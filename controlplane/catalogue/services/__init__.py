"""What people can do to the catalogue. Every write a person or a token asks for is a verb here."""
