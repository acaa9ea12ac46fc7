"""When to trigger a server's role again: an obstacle is gone, or a child is lost."""

from __future__ import annotations

from collections.abc import Mapping

from devctl.api.applied import Reason
from devctl.api.conditions import find
from devctl.api.devserver import Condition, home_names
from devctl.api.pod_spec import shape
from devctl_observer.control.role_controller import Cause, Known, usual_cause
from devctl_observer.judging.conditions import failure
from devctl_observer.kinds.flavors.model import Flavor, wanted_flavor
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Observed


def cause(server: Server, flavors: Mapping[str, Flavor], known: Known) -> Cause:
    """Why to trigger the role; empty for no reason.

    The times of conditions are not part of it, or each failure would trigger the role again.

    Args:
        server: The stored object.
        flavors: All flavors.
        known: What else is known about it.
    """
    if server.going or known.lost:
        return usual_cause(server, known)
    # For a refused pod, a change by the role makes the StatefulSet controller retry sooner.
    if find(server.status, Condition.READY).get("reason") == Reason.QUOTA_EXCEEDED:
        return "room", known.grew
    if failure(server).get("reason") != Reason.INVALID:
        return usual_cause(server, known)
    # Whether it may have a cordoned one is the role's to say.
    flavor, _ = wanted_flavor(server.spec.flavor, flavors, applied=True)
    if flavor is None:
        return ()
    # Which flavor is the default depends on all of them.
    causes = [flavor] if server.spec.flavor else [flavors[name] for name in sorted(flavors)]
    versions = (f"{cause.metadata.uid}/{cause.metadata.generation}" for cause in causes)
    return "flavor", str(server.metadata.generation), *versions


def missing(seen: Observed) -> list[str]:
    """The children that the role creates for the current spec and that are missing."""
    homes = home_names(seen.server.metadata.name, shape(seen.layout)[0])
    lost = [home for home in homes if home not in seen.around.claims]
    return lost if seen.made else [*lost, "the StatefulSet"]
