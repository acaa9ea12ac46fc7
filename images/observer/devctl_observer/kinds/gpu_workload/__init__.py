"""GPUWorkloads.

A workload runs in attempts, each a Job of its own. The observer chooses a node for each attempt and
records that in the status; the role creates the attempt's Job from there, once.
"""
