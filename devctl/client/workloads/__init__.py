"""GPU workloads: programs that run once, on GPUs that a strategy chooses."""
