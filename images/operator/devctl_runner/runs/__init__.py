"""What a process does that was forked from the warm one. The daemon's side is another package.

request            what is asked of it
warm               what it takes over: Ansible, imported and used once
ansible_internals  where that leans on what Ansible promises to nobody
events             what the operator is told of a run
serve              a run, and those that come after it
"""
