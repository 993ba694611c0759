"""Gates: a stored load test with thresholds that CI calls, and what came of each call."""
