"""Admission laws, one a file: is a request taken, held back, or shed."""
