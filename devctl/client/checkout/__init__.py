"""The state of a git checkout, carried to a pod exactly: in a capsule, which is applied there."""
