"""What administrators limit in a server's lifecycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.kinds import LIFECYCLE_POLICY
from devctl.errors import DeniedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from devctl.client.servers import Server
    from devctl.kube.cluster import Cluster


def limits_of(cluster: Cluster, server: Server) -> Sequence[str]:
    """What each LifecyclePolicy that applies to a server allows, in a line."""
    try:
        policies = list(cluster.list(LIFECYCLE_POLICY))
    except (DeniedError, NotFoundError):  # an older release of devctl's is installed
        return []
    found = {
        str(policy["metadata"]["name"]): ", ".join(_allowed(policy["spec"]))
        for policy in policies
        if _applies(policy, server)
    }
    return [f"{text} (LifecyclePolicy `{name}`)" for name, text in sorted(found.items()) if text]


def _applies(policy: Mapping[str, Any], server: Server) -> bool:
    """Whether a server has to meet a policy, as config/admission/lifecycle_limits.yaml says."""
    spec, status = policy["spec"], policy.get("status") or {}
    flavors, users = spec.get("flavors") or [], spec.get("users") or []
    named = server.flavor in flavors if server.flavor else bool(status.get("coversDefault"))
    return (not flavors or named) and (not users or server.owner in users)


def _allowed(spec: Mapping[str, Any]) -> Iterator[str]:
    """What a policy allows.

    >>> list(_allowed({"idleTimeout": {"minimum": "1h"}, "maxRuntime": {"required": True}}))
    ['idleTimeout at least 1h', 'maxRuntime required']
    """
    for field in ("idleTimeout", "autoShutdown", "maxRuntime", "timeToLive", "hold"):
        limit = spec.get(field) or {}
        words = [
            f"at least {_length(limit['minimum'])}" if "minimum" in limit else "",
            f"at most {_length(limit['maximum'])}" if "maximum" in limit else "",
            "required" if limit.get("required") else "",
        ]
        if text := " and ".join(filter(None, words)):
            yield f"{field} {text}"


def _length(duration: int | str) -> str:
    return f"{duration} s" if isinstance(duration, int) else duration
