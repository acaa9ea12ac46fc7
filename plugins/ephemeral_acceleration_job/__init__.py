"""The values for the role `ephemeral_acceleration_job`, from a job and its neighbours.

state     the progress of a job, from its status and its live pod
decision  whether the pod is created, kept, or removed
claim     the claim of the volume, which outlives the job
pod       the contents of the pod
queue     how it waits in the queue of a team
values    all values together, and the labels that mark an object as a job's

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
