"""What of a server somebody has taken away.

ansible-operator runs a role when one of its objects is deleted. But where it watches a kind for it,
it also takes the first status that a controller writes into each object for a change, and runs the
role for nothing. So it does not watch the kinds that have a status; they are watched here anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.devserver import Condition, home_names
from devctl_observer.conditions import TRUE, find

if TYPE_CHECKING:
    from devctl_observer.server_status import Observed


def missing(seen: Observed) -> list[str]:
    """What the role has made for the present spec and is not there; empty while it is at work."""
    server = seen.server
    said = find(server.status, Condition.APPLIED)
    current = said.get("observedGeneration") == server.metadata.generation
    if server.metadata.deletion_timestamp or not current or said.get("status") != TRUE:
        return []
    homes = home_names(server.metadata.name, seen.layout.size)
    lost = [home for home in homes if home not in seen.around.claims]
    return lost if seen.made else [*lost, "the StatefulSet"]
