"""HTTP/1.1 towards clients, as a raw protocol: a framework would cost more than the policy."""
