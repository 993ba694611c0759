"""How near the model is to what was measured on real engines, and to what theory says."""
