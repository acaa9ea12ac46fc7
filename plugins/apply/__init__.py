"""What the `apply` action does, apart from Ansible: it makes the cluster hold what a role rendered.

values      what a kind's own module says, and what is read for it
templates   templates to manifests
manifests   what names them, and how they are written
ownership   how a manifest becomes the owner's, and whose an existing object is
fields      whose a field is, and whether an apply would change nothing
converge    read, check, remove, write, prune
finalize    what an owner that is being deleted has in other namespaces
report      what was done, and the differences
condition   the owner's condition about it
errors      why an apply failed, in words for that condition
server      how the API server is asked

The folder `plugins/` must be on Python's path: Ansible loads an action plugin as a single file.
"""
