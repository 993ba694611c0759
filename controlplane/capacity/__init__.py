"""The capacity page: what an endpoint carries under a workload, measured and by every method."""
