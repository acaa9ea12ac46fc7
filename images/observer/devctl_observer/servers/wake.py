"""When a role is to be run again: what it lacked is there, or what it made is gone.

ansible-operator runs a role for changes of the DevServer and of some of its children. All else
reaches it through an annotation. Its value is a digest of the cause, so that it is written once for
each, whoever looks and however often.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from devctl_observer.applied import failure
from devctl_observer.flavor_drift import wanted_flavor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.model import Flavor, Server


def wake_value(server: Server, flavors: Mapping[str, Flavor]) -> str | None:
    """What the annotation should say; None where nobody needs to be woken.

    The times of conditions are no part of it: a role that fails again would be woken for that.
    """
    if server.metadata.deletion_timestamp or failure(server).get("reason") != "Invalid":
        return None
    flavor, _ = wanted_flavor(server, flavors)
    if flavor is None:
        return None
    # Which flavor is the only default depends on all of them.
    causes = [flavor] if server.spec.flavor else [flavors[name] for name in sorted(flavors)]
    return digest(
        server, *(f"{cause.metadata.uid}/{cause.metadata.generation}" for cause in causes)
    )


def digest(server: Server, *cause: str) -> str:
    """The annotation's value for a cause."""
    parts = [str(server.metadata.generation), *cause]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
