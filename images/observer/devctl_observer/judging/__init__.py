"""Pure functions: what Kubernetes' objects mean to people."""
