"""Self-service PyTorch dev servers and GPU jobs on Kubernetes."""
