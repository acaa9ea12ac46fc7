"""VLLMRuns.

A run is one pod with GPUs that a ResourceClaim holds. Its end is final; the role then gives the
claim back.
"""
