"""What the `apply` action does, apart from Ansible: it makes the cluster hold what a role rendered.

errors       why an apply failed, in words for a status condition
manifests    rendered text to manifests, checked and marked as the owner's
ownership    whose an existing object is
values       what a kind's own module says, and what is read for it
templates    templates to text
environment  a container's environment
yaml_text    JSON that is YAML too
resources    where the API serves a kind
api_errors   what the API server meant by an error
retry        how long and how often to try again
connection   the client for the cluster that the environment names
client       the requests
finalize     what an owner that is being deleted has in other namespaces
others_fields  fields that are set once, and another's afterwards
settled      whether an apply would change nothing
report       what was done, and the differences
condition    the owner's condition about it
converge     read, check, remove, write, prune

The folder `plugins/` must be on Python's path: Ansible loads an action plugin as a single file.
"""
