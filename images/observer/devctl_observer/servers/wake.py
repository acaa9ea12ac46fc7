"""When a role is to be run again: what it lacked is there, or what it made is gone.

ansible-operator runs a role for changes of the DevServer. Where it watches a kind of children, too,
it takes the first status that a controller writes into each for a change, and runs the role for
nothing. So all else reaches it through an annotation. Its value is a digest of the cause, so that
it is written once for each, whoever looks and however often.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from devctl.api.applied import Reason
from devctl.api.devserver import Condition, home_names
from devctl.api.pod_spec import shape
from devctl_observer.flavors.choice import wanted_flavor
from devctl_observer.judging.applied import failure, role_said
from devctl_observer.judging.conditions import TRUE, find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.flavors.model import Flavor
    from devctl_observer.servers.model import Server
    from devctl_observer.servers.status import Observed


def wake_value(server: Server, flavors: Mapping[str, Flavor], grew: str) -> str | None:
    """What the annotation should say; None where nobody needs to be woken.

    The times of conditions are no part of it: a role that fails again would be woken for that.

    Args:
        server: As it is stored.
        flavors: Every flavor.
        grew: Stands for the last time that there was more room in the quotas of its namespace.
    """
    reason = failure(server).get("reason")
    if server.metadata.deletion_timestamp:
        return None
    # Of a pod, its StatefulSet's controller tries again: sooner if the role changes something.
    if Reason.QUOTA_EXCEEDED in {reason, find(server.status, Condition.READY).get("reason")}:
        return digest(server, "room", grew)
    if reason != Reason.INVALID:
        return None
    flavor, _ = wanted_flavor(server.spec.flavor, flavors)
    if flavor is None:
        return None
    # Which flavor is the only default depends on all of them.
    causes = [flavor] if server.spec.flavor else [flavors[name] for name in sorted(flavors)]
    return digest(
        server, *(f"{cause.metadata.uid}/{cause.metadata.generation}" for cause in causes)
    )


def missing(seen: Observed) -> list[str]:
    """What the role has made for the present spec and is not there; empty while it is at work."""
    server = seen.server
    if server.metadata.deletion_timestamp or role_said(server).get("status") != TRUE:
        return []
    homes = home_names(server.metadata.name, shape(seen.layout)[0])
    lost = [home for home in homes if home not in seen.around.claims]
    return lost if seen.made else [*lost, "the StatefulSet"]


def digest(server: Server, *cause: str) -> str:
    """The annotation's value for a cause."""
    parts = [str(server.metadata.generation), *cause]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
