"""What placing goes by of a Node, but for what pods hold of it."""

from __future__ import annotations

from devctl.api.placing import NodeFacts, Taint
from devctl_gateway.cluster.objects import Thing


def small_node(node: Thing) -> Thing:
    """What is kept of a Node: a heartbeat changes none of it."""
    status = node.get("status", {})
    ready = [each for each in status.get("conditions") or [] if each["type"] == "Ready"]
    said = [{"type": each["type"], "status": each["status"]} for each in ready]
    kept = {"conditions": said, "allocatable": status.get("allocatable") or {}}
    labels, spec = node["metadata"].get("labels") or {}, node.get("spec", {})
    return {
        "metadata": {"name": node["metadata"]["name"], "labels": labels},
        "spec": {name: spec[name] for name in ("unschedulable", "taints") if name in spec},
        "status": kept,
    }


def is_ready(node: Thing | None) -> bool:
    """Whether there is a Node, and its kubelet says that it is ready."""
    said = (node or {}).get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in said)


def facts(node: Thing | None) -> NodeFacts:
    """What placing goes by of a Node, but for what it has."""
    found = node or {}
    meta, spec = found.get("metadata", {}), found.get("spec", {})
    return NodeFacts(
        name=meta.get("name", ""),
        ready=is_ready(node),
        cordoned=bool(spec.get("unschedulable")),
        labels=tuple(sorted((meta.get("labels") or {}).items())),
        taints=tuple(
            Taint(each["key"], each.get("value", ""), each["effect"])
            for each in spec.get("taints") or []
        ),
        allocatable=(),
    )
