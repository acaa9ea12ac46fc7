"""What a server's pods are made from.

A server that runs is never restarted by a change: it keeps what its pods were made from, recorded
on its StatefulSet, until it is stopped and started. While nobody can be at work in a pod there is
nothing to keep, and a change is taken up at once: that is how a mistake is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apply.errors import ApplyError
from apply.values import entries

from devctl.api.applied import Reason
from devctl.api.devserver import MASTER_PORT
from devctl.api.flavors import choose, pod_part
from devctl.api.labels import MADE_FROM
from devctl.api.made_from import MadeFrom, read_record
from devctl.api.occupancy import is_occupied
from devctl.api.pod_spec import pod_spec, shape

_ORDINAL = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}


def recorded(server: Mapping[str, Any], statefulset: Mapping[str, Any] | None) -> MadeFrom | None:
    """What the StatefulSet's pods were made from; None where that is not known.

    A StatefulSet of an earlier server of the same name says nothing about this one.
    """
    metadata = (statefulset or {}).get("metadata", {})
    owners = {owner["uid"] for owner in metadata.get("ownerReferences", [])}
    if server["metadata"]["uid"] not in owners:
        return None
    return read_record(metadata.get("annotations", {}).get(MADE_FROM))


def is_serving(server: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> bool:
    """Whether somebody may be at work on the server."""
    return not server["spec"].get("stopped", False) and any(map(is_occupied, pods))


def made_from(
    server: Mapping[str, Any],
    flavors: Sequence[Mapping[str, Any]],
    statefulset: Mapping[str, Any] | None,
    pods: Sequence[Mapping[str, Any]],
) -> MadeFrom:
    """What the pods are to be made from now.

    Raises:
        ApplyError: The server is to start, and the flavor that it asks for cannot be told.
    """
    kept = recorded(server, statefulset)
    if kept and is_serving(server, pods):
        return kept
    spec = pod_spec(server["spec"])
    try:
        return MadeFrom(spec, *find_flavor(spec.get("flavor"), flavors))
    except ApplyError:
        # Whatever has become of the flavor, a server can be stopped.
        if kept and server["spec"].get("stopped", False):
            return kept
        raise


def update_strategy(
    server: Mapping[str, Any],
    statefulset: Mapping[str, Any] | None,
    pods: Sequence[Mapping[str, Any]],
    wanted: MadeFrom,
) -> str:
    """How the StatefulSet takes up a changed template.

    Not by itself, or an upgrade of the operator would restart everybody's servers. But pods that
    never came up would otherwise stay when what broke them is fixed: those are replaced until the
    server serves.
    """
    stopped = server["spec"].get("stopped", False)
    if statefulset is None or stopped or is_serving(server, pods):
        return "OnDelete"
    before = recorded(server, statefulset)
    if before is not None and before != wanted:
        return "RollingUpdate"
    return str(statefulset["spec"].get("updateStrategy", {}).get("type", "OnDelete"))


def find_flavor(
    name: str | None, flavors: Sequence[Mapping[str, Any]]
) -> tuple[str, int, dict[str, Any]]:
    """Name, generation and spec of the flavor of that name, or of the default one.

    Args:
        name: What the server names; None if it leaves the choice to the administrator.
        flavors: Every DevServerFlavor.

    Raises:
        ApplyError: There is none of that name; or not exactly one default.
    """
    by_name = {flavor["metadata"]["name"]: flavor for flavor in flavors}
    choice = choose(name, {n: bool(f["spec"].get("default")) for n, f in by_name.items()})
    if choice.problem:
        raise ApplyError(Reason.INVALID, choice.problem)
    found = by_name[choice.name]
    return choice.name, found["metadata"]["generation"], pod_part(found["spec"])


def environment(name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of the container's `env`, in an order that does not change.

    torch.distributed and NCCL read them.

    Args:
        name: The server's.
        spec: What its pods are made from.
    """
    nodes, per_node = shape(spec)
    distributed = spec["distributed"] if spec.get("mode") == "distributed" else {}
    values = {
        # A user's image may lack our user, whose home it would be.
        "HOME": "/home/dev",
        "WORLD_SIZE": nodes * per_node,
        "LOCAL_WORLD_SIZE": per_node,
        "NNODES": nodes,
        "MASTER_ADDR": f"{name}-0.{name}",
        "MASTER_PORT": MASTER_PORT,
        "DEVCTL_BACKEND": distributed.get("backend", "gloo"),
        **({} if spec.get("enableSSH", True) else {"DEVCTL_SSH": "off"}),
        **distributed.get("ncclSettings", {}),
    }
    return [
        {"name": "NODE_RANK", "valueFrom": _ORDINAL},
        # The rank of the pod's first process where each pod has one; torchrun sets it otherwise.
        {"name": "RANK", "valueFrom": _ORDINAL},
        *entries(dict(sorted(values.items()))),
    ]
