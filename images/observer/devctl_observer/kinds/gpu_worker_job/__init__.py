"""GPUWorkerJobs.

A job is one Job of Kubernetes. Its status says when its pods ran, as the cluster saw it: what it
costs is computed from nothing else.
"""
