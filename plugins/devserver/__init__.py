"""What the role `devserver` computes, from a DevServer and its neighbours.

pods    what the pods are made from: the spec as it is, or as it was when they started
homes   how large each home is
values  all that the templates print, and the labels that say that an object is a server's

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
