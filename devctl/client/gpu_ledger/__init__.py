"""One account of all GPUs: what nodes list, what they offer by claim, and who has it.

devices   what nodes offer by claim, and what claims hold
requests  what pods request of the resources that nodes list
entries   the account of a node and of a cluster
balance   puts it together, and finds what is counted twice
check     reads it all, and tells `devctl doctor`
"""
