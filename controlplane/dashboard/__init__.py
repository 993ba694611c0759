"""The first page: endpoints with their last verdict, runs now, what to do next."""
