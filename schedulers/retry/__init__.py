"""Retry laws, one a file: when a request that failed is sent again, if it is."""
