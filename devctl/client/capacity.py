"""What nodes have, and what pods have asked for of it, as the scheduler counts it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from devctl.api.placing import PODS, NodeFacts, Taint, effective_requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from devctl.kube.cluster import Object

_ENDED = {"Succeeded", "Failed"}


def node_facts(node: Object) -> NodeFacts:
    """What of a node decides about placing."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    ready = {c["type"]: c["status"] for c in status.get("conditions") or []}.get("Ready")
    return NodeFacts(
        name=str(node["metadata"]["name"]),
        ready=ready == "True",
        cordoned=bool(spec.get("unschedulable", False)),
        labels=tuple(sorted((node["metadata"].get("labels") or {}).items())),
        taints=tuple(
            Taint(taint["key"], taint.get("value") or "", taint["effect"])
            for taint in spec.get("taints") or []
        ),
        allocatable=tuple(sorted((status.get("allocatable") or {}).items())),
    )


def usage(pods: Iterable[Object]) -> dict[str, dict[str, Decimal]]:
    """By node what the pods on it have asked for."""
    found: dict[str, dict[str, Decimal]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and (pod.get("status") or {}).get("phase") not in _ENDED:
            _add(found.setdefault(node, {}), asked(pod["spec"]))
    return found


def asked(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """What the scheduler counts for a pod.

    Its containers run at once; those that only prepare run before, and count where they need more.
    """
    total: dict[str, Decimal] = {PODS: Decimal(1)}
    for container in spec.get("containers") or []:
        _add(total, _requests(container))
    # Those that go on beside the others count with them, from when they are started.
    beside: dict[str, Decimal] = {}
    peak: dict[str, Decimal] = {}
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            _add(beside, _requests(container))
        needs = dict(beside)
        if container.get("restartPolicy") != "Always":
            _add(needs, _requests(container))
        peak = {n: max(peak.get(n, Decimal(0)), needs.get(n, Decimal(0))) for n in peak | needs}
    _add(total, beside)
    total = {n: max(total.get(n, Decimal(0)), peak.get(n, Decimal(0))) for n in total | peak}
    # What is asked for the pod as a whole stands instead of what its containers ask.
    total |= _requests(spec)
    _add(total, effective_requests(spec.get("overhead") or {}, {}))
    return total


def _requests(container: Mapping[str, Any]) -> dict[str, Decimal]:
    block = container.get("resources") or {}
    return effective_requests(block.get("requests") or {}, block.get("limits") or {})


def _add(total: dict[str, Decimal], more: Mapping[str, Decimal]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount
