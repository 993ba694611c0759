"""What a team works with: endpoints, tenants, SLOs, policies and workloads."""
