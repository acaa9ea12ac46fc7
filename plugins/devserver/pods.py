"""What a server's pods are created from.

A change never restarts a running server: it keeps what its pods were created from, as recorded on
its StatefulSet, until it is stopped and started. While no pod is usable, a change takes effect
immediately, so that mistakes can be fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apply.errors import ApplyError
from apply.values import entries

from devctl.api.applied import APPLIED, Reason
from devctl.api.conditions import find
from devctl.api.flavors import choose, offer, pod_part
from devctl.api.labels import MADE_FROM
from devctl.api.made_from import MadeFrom, read_record
from devctl.api.occupancy import is_occupied
from devctl.api.pod_spec import ACTIVITY_PROBE, pod_spec, shape
from devctl.api.ranks import own_variables, shared_variables
from devserver.probe import probe_variables
from devserver.queue import is_queued

_ORDINAL = "apps.kubernetes.io/pod-index"
"""Kubernetes' label of a StatefulSet's pod: its number."""


def recorded(server: Mapping[str, Any], statefulset: Mapping[str, Any] | None) -> MadeFrom | None:
    """What the StatefulSet's pods were created from; None if unknown.

    The StatefulSet of an earlier server of the same name does not count.
    """
    metadata = (statefulset or {}).get("metadata", {})
    owners = {owner["uid"] for owner in metadata.get("ownerReferences", [])}
    if server["metadata"]["uid"] not in owners:
        return None
    return read_record(metadata.get("annotations", {}).get(MADE_FROM))


def is_serving(server: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> bool:
    """Whether someone may be working on the server."""
    return not server["spec"].get("stopped", False) and any(map(is_occupied, pods))


def made_from(
    server: Mapping[str, Any],
    flavors: Sequence[Mapping[str, Any]],
    statefulset: Mapping[str, Any] | None,
    pods: Sequence[Mapping[str, Any]],
) -> MadeFrom:
    """What pods are to be created from now.

    Raises:
        ApplyError: The server is to start, and its flavor cannot be determined.
    """
    kept = recorded(server, statefulset)
    if kept and is_serving(server, pods):
        return kept
    stopped = server["spec"].get("stopped", False)
    if kept and stopped and (is_queued(statefulset) or server["spec"].get("team")):
        return kept
    spec = pod_spec(server["spec"])
    try:
        return MadeFrom(spec, *_find_flavor(server, kept, flavors))
    except ApplyError:
        # A server can be stopped even if its flavor is gone.
        if kept and stopped:
            return kept
        raise


def update_strategy(
    server: Mapping[str, Any],
    statefulset: Mapping[str, Any] | None,
    pods: Sequence[Mapping[str, Any]],
    wanted: MadeFrom,
) -> str:
    """The StatefulSet's update strategy.

    OnDelete, because an upgrade of the operator would otherwise restart everyone's servers. But
    pods that never became ready are replaced until the server is usable: otherwise they would
    remain after their problem is fixed.
    """
    stopped = server["spec"].get("stopped", False)
    if statefulset is None or stopped or is_serving(server, pods):
        return "OnDelete"
    before = recorded(server, statefulset)
    if before is not None and before != wanted:
        return "RollingUpdate"
    return str(statefulset["spec"].get("updateStrategy", {}).get("type", "OnDelete"))


def _find_flavor(
    server: Mapping[str, Any], kept: MadeFrom | None, flavors: Sequence[Mapping[str, Any]]
) -> tuple[str, int, dict[str, Any]]:
    """Name, generation and spec of the flavor that a server gets."""
    by_name = {flavor["metadata"]["name"]: flavor for flavor in flavors}
    # A StatefulSet that left its queue has taken its record along.
    applied = find(server.get("status") or {}, APPLIED).get("status") == "True"
    choice = choose(
        server["spec"].get("flavor"),
        {name: offer(flavor["spec"]) for name, flavor in by_name.items()},
        had=kept.flavor if kept else "",
        applied=applied,
    )
    if choice.problem:
        raise ApplyError(Reason.INVALID, choice.problem)
    found = by_name[choice.name]
    return choice.name, found["metadata"]["generation"], pod_part(found["spec"])


def environment(name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of the container's `env`, in a stable order.

    torch.distributed and NCCL read them.

    Args:
        name: The server's name.
        spec: The spec that its pods are created from.
    """
    nodes, per_node = shape(spec)
    distributed = spec["distributed"] if spec.get("mode") == "distributed" else {}
    values = {
        # A user's image may lack our user, and with it a home.
        "HOME": "/home/dev",
        **shared_variables(nodes, per_node, f"{name}-0.{name}"),
        "DEVCTL_SERVER": name,
        "DEVCTL_BACKEND": distributed.get("backend", "gloo"),
        **({} if spec.get("enableSSH", True) else {"DEVCTL_SSH": "off"}),
        **probe_variables(spec.get(ACTIVITY_PROBE)),
        **distributed.get("ncclSettings", {}),
    }
    return [*own_variables(_ORDINAL), *entries(dict(sorted(values.items())))]
