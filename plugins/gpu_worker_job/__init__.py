"""The values for the role `gpu_worker_job`, from a GPUWorkerJob and its Job.

affinity  which nodes its pod may have, and which it prefers
costs     which of them cost least
job       the contents of the Job
values    all values together: whether the Job is created, and whether it is removed

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
