"""The history of an endpoint under a workload: its runs in order, and where a level changed."""
