"""Labels and annotations that roles write and everything else reads."""

from __future__ import annotations

from hashlib import sha256

GROUP = "devops.yourcompany.com"
VERSION = "v1"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "devctl"
"""The value of MANAGED_BY on everything that a role has made."""

DEVSERVER = f"{GROUP}/devserver"
"""Label: the DevServer that an object belongs to, by name, in the same namespace."""

FLAVOR = f"{GROUP}/flavor"
"""Annotation of the pod template: the flavor that the pods were made from."""

FLAVOR_GENERATION = f"{GROUP}/flavor-generation"
"""Annotation of the pod template: that flavor's metadata.generation at the time."""

MADE_FROM = f"{GROUP}/made-from"
"""Annotation of a StatefulSet: JSON of what its pods are made from, with `spec` as
devctl.api.pod_spec gives it, and `flavor` with `name`, `generation` and `spec`."""

HOOKS = f"{GROUP}/hooks"
"""Annotation of the pod template: the names of its hooks in order, with commas; absent if none."""

WAKE = f"{GROUP}/wake"
"""Annotation of a DevServer: a digest of why its role is to run again, as the observer sees it."""

OWNER = f"{GROUP}/owner"
"""Label: a digest of spec.owner, so that nobody inherits the files of another owner's server."""

OWNER_UID = f"{GROUP}/owner-uid"
"""Label: metadata.uid of the custom resource that an object belongs to, in whatever namespace."""

OWNER_NAME = f"{GROUP}/owner-name"
"""Annotation of a home: spec.owner itself, who alone may delete it. Admission compares names."""

STOPPED_BY = f"{GROUP}/stopped-by"
"""Annotation of a stopped DevServer: why devctl stopped it, in one word. Absent if a user did."""

STOPPED_BY_MESSAGE = f"{GROUP}/stopped-by-message"
"""Annotation beside it: the same for its owner, in a sentence."""


def owner_digest(owner: str) -> str:
    """An owner as the value of a label, in which not all characters of names are allowed.

    >>> owner_digest("alice@company.com")
    '22c9943ba6fdf0104cc21b7b'
    """
    return sha256(owner.encode()).hexdigest()[:24]
