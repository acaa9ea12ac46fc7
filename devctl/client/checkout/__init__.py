"""The state of a git checkout, carried to a pod exactly: in a capsule, which is applied there.

    checkout = detect(Path.cwd())
    changes = collect(checkout)
    capsule = pack(changes, folder)
    print(Summary(checkout, changes, capsule))

devctl.capsule has what the pod runs to make a folder of it.
docs/decisions/0033-checkout-capsules.md says why it is done this way.
"""
