"""What a process forked from the warm one does. The daemon's side is a separate package.

request            the request for a run
warm               what runs inherit: Ansible, imported and used once
compatibility      whether this Ansible has every private name that is needed here
ansible_internals  the only module that uses these names
events             the events of a run, as posted to the operator
serve              executes a run, and the next ones
"""
