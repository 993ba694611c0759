"""Fitting a profile of the engine model to what a real engine did."""
