"""What happens without a request: every step can be repeated, so all replicas do it."""
