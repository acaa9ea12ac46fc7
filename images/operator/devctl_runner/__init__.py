"""A drop-in for `ansible-runner run` that forks each run from a process with Ansible imported.

client    what ansible-operator starts for a run: hands it to the daemon, and waits
prestart  what goes before the operator's own start
paths     where client and daemon meet, and what the environment decides
daemon    takes runs, has each done by a process, ends what takes too long, and counts
runs      what such a process does: a run as it is asked for, with Ansible, and its events
"""
