"""The state of a git checkout, carried to a pod exactly: in a capsule, which is applied there.

    checkout = detect(Path.cwd())
    changes = collect(checkout)
    capsule = pack(changes, folder)
    print(Summary(checkout, changes, capsule))

`program()` is what the pod runs: `python3 -I PROGRAM CAPSULE SHA256 REPOSITORY TARGET`.
docs/decisions/0033-checkout-capsules.md says why it is done this way.
"""
