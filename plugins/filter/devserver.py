"""Filters of the role `devserver`: everything that its templates do not have to compute.

A DevServer, its flavor and the StatefulSet that is there go in; the values that templates print
come out. Standalone is a distributed server of size one, so both modes take the same way.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleFilterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GROUP = "devops.yourcompany.com"
# Where torch.distributed meets; the range is kept free for further groups of the same job.
MASTER_PORT = 29500
PORTS = range(MASTER_PORT, MASTER_PORT + 11)
FLAVOR = f"{GROUP}/flavor"
FLAVOR_GENERATION = f"{GROUP}/flavor-generation"
FLAVOR_SPEC = f"{GROUP}/flavor-spec"


def devserver_values(
    server: Mapping[str, Any],
    flavor: Mapping[str, Any] | None,
    statefulset: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What the templates print.

    Args:
        server: The DevServer.
        flavor: The DevServerFlavor that it names; None where there is none of that name.
        statefulset: The server's StatefulSet as it is now; None where there is none yet.

    Raises:
        AnsibleFilterError: The flavor does not exist, and no pod runs on an earlier state of it.
    """
    spec, name = server["spec"], server["metadata"]["name"]
    stopped = bool(spec.get("stopped", False))
    nodes, per_node = shape(spec)
    used = effective_flavor(spec["flavor"], flavor, statefulset, stopped=stopped)
    resources = used["spec"]["resources"]
    limits, requests = resources.get("limits", {}), resources["requests"]
    return {
        "name": name,
        "nodes": nodes,
        "replicas": 0 if stopped else nodes,
        "environment": environment(name, spec, nodes, per_node),
        "flavor_annotations": {
            FLAVOR: spec["flavor"],
            FLAVOR_GENERATION: str(used["generation"]),
            FLAVOR_SPEC: json.dumps(used["spec"], sort_keys=True),
        },
        "resources": {"requests": requests, "limits": limits},
        "node_selector": used["spec"].get("nodeSelector", {}),
        "tolerations": used["spec"].get("tolerations", []),
        # Shared memory counts against the container's memory: its limit bounds both.
        "shared_memory": limits.get("memory", requests.get("memory", "64Mi")),
        "claim_template_size": claim_template_size(spec, statefulset),
        "homes": [f"home-{name}-{ordinal}" for ordinal in range(nodes)],
    }


def shape(spec: Mapping[str, Any]) -> tuple[int, int]:
    """The number of pods, and of processes in each.

    >>> shape({"mode": "distributed", "distributed": {"worldSize": 8, "nprocsPerNode": 4}})
    (2, 4)
    """
    if spec.get("mode", "standalone") != "distributed":
        return 1, 1
    per_node = int(spec["distributed"].get("nprocsPerNode", 1))
    return int(spec["distributed"]["worldSize"]) // per_node, per_node


def effective_flavor(
    name: str,
    flavor: Mapping[str, Any] | None,
    statefulset: Mapping[str, Any] | None,
    *,
    stopped: bool,
) -> dict[str, Any]:
    """The flavor's spec and generation that the pods get.

    A changed flavor never restarts a running server: it keeps what its StatefulSet recorded, and
    takes the change at its next start.

    Raises:
        AnsibleFilterError: Neither a record nor the flavor is there.
    """
    recorded = (statefulset or {}).get("metadata", {}).get("annotations", {})
    running = bool((statefulset or {}).get("spec", {}).get("replicas", 0)) and not stopped
    if running and recorded.get(FLAVOR) == name and FLAVOR_SPEC in recorded:
        generation = int(recorded[FLAVOR_GENERATION])
        return {"spec": json.loads(recorded[FLAVOR_SPEC]), "generation": generation}
    if flavor is None:
        message = (
            f"flavor `{name}` does not exist: name one that `kubectl get devserverflavors` lists"
        )
        raise AnsibleFilterError(message)
    return {"spec": flavor["spec"], "generation": flavor["metadata"]["generation"]}


def environment(
    name: str, spec: Mapping[str, Any], nodes: int, per_node: int
) -> list[dict[str, Any]]:
    """The container's environment: what torch.distributed and NCCL read."""
    distributed = spec.get("distributed", {}) if spec.get("mode") == "distributed" else {}
    ordinal = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}
    values: dict[str, str] = {
        "WORLD_SIZE": str(nodes * per_node),
        "LOCAL_WORLD_SIZE": str(per_node),
        "NNODES": str(nodes),
        "MASTER_ADDR": f"{name}-0.{name}",
        "MASTER_PORT": str(MASTER_PORT),
        "DEVCTL_BACKEND": str(distributed.get("backend", "gloo")),
        **{key: str(value) for key, value in distributed.get("ncclSettings", {}).items()},
    }
    return [
        {"name": "NODE_RANK", "valueFrom": ordinal},
        # The rank of the pod's first process where each pod has one; torchrun sets it otherwise.
        {"name": "RANK", "valueFrom": ordinal},
        *({"name": key, "value": value} for key, value in sorted(values.items())),
    ]


def claim_template_size(spec: Mapping[str, Any], statefulset: Mapping[str, Any] | None) -> str:
    """The size in the StatefulSet's claim template: it can never change once it is made.

    Homes grow through their claims, which the role renders itself.
    """
    for template in (statefulset or {}).get("spec", {}).get("volumeClaimTemplates", []):
        if template["metadata"]["name"] == "home":
            return str(template["spec"]["resources"]["requests"]["storage"])
    return str(spec["persistentHomeSize"])


class FilterModule:
    """Registers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name to function."""
        return {"devserver_values": devserver_values}
