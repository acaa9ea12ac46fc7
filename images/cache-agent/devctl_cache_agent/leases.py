"""containerd's leases: what keeps the half of a layer that a pull which failed has fetched. Pure.

Without one, containerd makes its own for each pull, and throws everything away when that fails.
Other runtimes know no leases, and ignore the header.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from devctl.agents import wire

CREATE = "/containerd.services.leases.v1.Leases/Create"
DELETE = "/containerd.services.leases.v1.Leases/Delete"
EXISTS = "ALREADY_EXISTS"
"""What gRPC says if there is such a lease."""
NAMESPACE = (("containerd-namespace", "k8s.io"),)
"""Where the kubelet's images are; the header of CREATE and DELETE."""
SECONDS = 24 * 3600
"""How long it keeps what nobody has asked for again."""
_EXPIRES = "containerd.io/gc.expire"


def name(ref: str) -> str:
    """The lease of an image, the same at each try."""
    return f"canhazgpu-{hashlib.sha256(ref.encode()).hexdigest()[:32]}"


def header(lease: str) -> tuple[tuple[str, str], ...]:
    """The header of a pull whose data a lease keeps."""
    return (("containerd-lease", lease),)


def create_request(lease: str, now: float) -> bytes:
    r"""The request of CREATE; `now` is in seconds since 1970.

    >>> wire.texts(create_request("a", 0.0))[3]
    '\n\x17containerd.io/gc.expire\x12\x141970-01-02T00:00:00Z'
    """
    until = datetime.fromtimestamp(now + SECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return wire.text(1, lease) + wire.nested(3, wire.text(1, _EXPIRES) + wire.text(2, until))


def delete_request(lease: str) -> bytes:
    """The request of DELETE."""
    return wire.text(1, lease)
