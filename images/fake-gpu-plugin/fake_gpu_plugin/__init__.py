"""A kubelet device plugin whose GPUs are made up: scheduling is real, computing is not."""
