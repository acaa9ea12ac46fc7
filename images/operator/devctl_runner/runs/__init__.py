"""What a process does that was forked from the warm one. The daemon's side is another package.

request            what is asked of it
warm               what it takes over: Ansible, imported and used once
compatibility      whether Ansible has all that it promises to nobody and that is needed here
ansible_internals  the only place where that is used
events             what the operator is told of a run
serve              a run, and those that come after it
"""
