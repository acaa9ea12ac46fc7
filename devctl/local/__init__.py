"""The local cluster: a real Kubernetes on one Linux machine, in one state folder.

Playbooks call `steps`; the other modules implement them.
"""
