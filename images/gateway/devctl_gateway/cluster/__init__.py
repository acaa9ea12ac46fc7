"""What Kubernetes knows of jobs and nodes, and what the gateway writes there."""
