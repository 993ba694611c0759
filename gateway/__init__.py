"""Gateway: the data plane, where a policy meets live traffic."""
