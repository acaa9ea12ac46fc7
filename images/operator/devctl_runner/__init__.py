"""A drop-in for `ansible-runner run` that forks each run from a process with Ansible imported.

client    what ansible-operator starts for a run: hands it to the daemon, and waits
prestart  what runs before the operator starts
paths     the files that client and daemon share, and settings from the environment
daemon    accepts runs, passes each to a process, kills overdue ones, and counts
runs      what such a process does: parses the request, runs Ansible, posts the events
"""
