"""The logic of the `apply` action, independent of Ansible: applies what a role rendered.

values      the module of a kind, and the objects read for it
templates   templates to manifests
manifests   keys and serialisation of manifests
ownership   gives manifests their owner, and checks who owns existing objects
fields      field ownership, and whether an apply would change nothing
converge    read, check, remove, apply, prune
finalize    deletes a terminating owner's objects in other namespaces
report      what was done, and the diffs
condition   the owner's condition that reports the result
errors      why an apply failed, as that condition shows it
server      requests to the API server

The folder `plugins/` must be on Python's path: Ansible loads an action plugin as a single file.
"""
