"""What the role `devserver` computes, from a DevServer and its neighbours.

pods         what the pods are made from: the spec as it is, or as it was when they started
environment  what torch.distributed and NCCL read
homes        how large each home is
utilities    the scripts that every server's container has
values       all of it together, and the labels that say that an object is a server's

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
