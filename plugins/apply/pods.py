"""What pods of several kinds have in common."""

from __future__ import annotations

from typing import Any

_NODE_SECONDS = 60
"""If a node does not respond for this long, the pod is evicted, and what it ran has failed."""


def lost_node_tolerations() -> list[dict[str, Any]]:
    """How long a pod stays on a node that is lost: Kubernetes' own default is five minutes.

    >>> [term["tolerationSeconds"] for term in lost_node_tolerations()]
    [60, 60]
    """
    return [
        {
            "key": f"node.kubernetes.io/{trouble}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _NODE_SECONDS,
        }
        for trouble in ("not-ready", "unreachable")
    ]


def preferred_node(name: str) -> dict[str, Any]:
    """The term by which a pod prefers a node above all others.

    >>> preferred_node("a")["preference"]
    {'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': ['a']}]}
    """
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"weight": 100, "preference": {"matchFields": [field]}}
