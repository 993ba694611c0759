"""Profiles: step-time parameters of one GPU, model and engine, with source and stated error."""
