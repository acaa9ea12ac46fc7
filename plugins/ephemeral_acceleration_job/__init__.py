"""What the role `ephemeral_acceleration_job` computes, from a job and its neighbours.

identity     the labels that say that an object is a job's
state        how far a job has come, from its status and its live pod
decision     what becomes of the pod: made once, kept, or removed
claim        the claim of the volume, which outlives the job
environment  what the job's program reads
pod          what the pod is made from
values       all of it together

The folder `plugins/` must be on Python's path: Ansible loads a filter as a single file.
"""
