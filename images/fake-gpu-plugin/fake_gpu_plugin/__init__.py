"""A kubelet device plugin with simulated GPUs: scheduling is real, computing is not."""
