"""The commands of `k8shazgpu`."""
