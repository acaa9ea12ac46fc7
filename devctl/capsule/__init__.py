"""How a capsule becomes a folder in a pod: what both who packs it and who makes the pod know.

applying   the program that runs in the pod, and imports nothing of ours
program    the same as one file

docs/decisions/0033-checkout-capsules.md says why it is done this way.
"""
