"""When a role that failed is to be run again: because what it lacked is there.

ansible-operator runs a role for changes of the DevServer and of its children. That a flavor was
made, or that one of two defaults has gone, reaches it through an annotation. Its value is a digest
of that cause, so that it is written once for each, whoever looks and however often.
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
    parts = [str(server.metadata.generation)]
    parts += [f"{cause.metadata.uid}/{cause.metadata.generation}" for cause in causes]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
