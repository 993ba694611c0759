"""A gate's run, as its JSON tells it, in the forms that CI systems read."""
