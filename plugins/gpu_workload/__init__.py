"""The values for the role `gpu_workload`, from a GPUWorkload and its Jobs.

job      the contents of the Job of one attempt
values   all values together: which Job is created, and which are removed

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
