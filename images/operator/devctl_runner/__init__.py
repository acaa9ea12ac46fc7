"""A drop-in for `ansible-runner run` that forks each run from a process with Ansible imported."""
