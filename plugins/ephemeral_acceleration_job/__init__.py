"""What the role `ephemeral_acceleration_job` computes, from a job and its neighbours.

state     how far a job has come, from its status and its live pod
decision  what becomes of the pod: made once, kept, or removed
claim     the claim of the volume, which outlives the job
pod       what the pod is made from
values    all of it together, and the labels that say that an object is a job's

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
