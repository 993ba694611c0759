"""A policy version's way to traffic, stage by stage, each with its evidence and its approvals."""
