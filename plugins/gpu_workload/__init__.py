"""The values for the role `gpu_workload`, from a GPUWorkload, its Jobs and its claim.

job        the contents of the Job of one attempt
workspace  the folder in which its program starts
values     all values together: which Job is created, and which are removed

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
