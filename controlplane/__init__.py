"""The control plane: what a team stores, sees and approves."""
