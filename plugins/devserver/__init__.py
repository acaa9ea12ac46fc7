"""The values for the role `devserver`, from a DevServer and its neighbours.

pods       what the pods are created from: the current spec, or that of their start
placement  which nodes they prefer because these have their image ready
queue      the labels by which Kueue queues the pods, and when it needs a new StatefulSet
homes      the size of each home
hooks      the scripts that run before a pod ends
probe      how the script `probe` learns what to ask
values     all values for the templates, and the labels that mark an object as a server's

The folder `plugins/` must be on Python's path: the action `apply` imports `values` by name.
"""
