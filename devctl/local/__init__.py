"""The local cluster: a real Kubernetes on one Linux machine, under one state folder.

`steps` lists what the playbooks call; everything else is what the steps are made of.
"""
