"""Everything that the templates of the role `devserver` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.devserver import PORTS
from devctl.api.labels import FLAVOR, FLAVOR_GENERATION, MADE_FROM
from devctl.api.pod_spec import shape
from devserver.environment import environment
from devserver.homes import claim_templates, homes
from devserver.identity import identity
from devserver.pods import made_from, update_strategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def devserver_values(
    server: Mapping[str, Any],
    flavors: Sequence[Mapping[str, Any]],
    statefulset: Mapping[str, Any] | None,
    claims: Sequence[Mapping[str, Any]],
    running: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What the templates print.

    Args:
        server: The DevServer.
        flavors: Every DevServerFlavor.
        statefulset: The server's StatefulSet as it is now; None where there is none yet.
        claims: The homes that are there.
        running: The pods that are there.

    Raises:
        ApplyError: The flavor that it needs cannot be told.
    """
    name, labels, live = server["metadata"]["name"], identity(server), server["spec"]
    pods = made_from(server, flavors, statefulset, running)
    spec, flavor = pods.spec, pods.flavor_spec
    nodes, _ = shape(spec)
    resources = flavor["resources"]
    limits, requests = resources.get("limits", {}), resources["requests"]
    size = live["persistentHomeSize"]
    return {
        "name": name,
        "labels": labels,
        "replicas": 0 if live.get("stopped", False) else nodes,
        "update_strategy": update_strategy(server, statefulset, running, pods),
        "made_from": {MADE_FROM: pods.to_text()},
        "flavor": {FLAVOR: pods.flavor, FLAVOR_GENERATION: str(pods.generation)},
        "image": spec["image"],
        "ports": list(PORTS),
        "environment": environment(name, spec),
        "resources": quantities(resources),
        "node_selector": flavor.get("nodeSelector", {}),
        "tolerations": flavor.get("tolerations", []),
        # Shared memory counts against the container's memory: its limit bounds both.
        "shared_memory": str(limits.get("memory", requests.get("memory", "64Mi"))),
        "shared_claim": spec.get("sharedVolumeClaimName"),
        "ssh": spec.get("enableSSH", True),
        "homes": homes(name, nodes, size, claims),
        "claim_templates": claim_templates(statefulset, labels, size),
    }


def quantities(resources: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Requests and limits as the API server stores them, so that an apply finds them unchanged.

    >>> quantities({"requests": {"cpu": 8}, "limits": {}})
    {'requests': {'cpu': '8'}}
    """
    return {
        part: {name: str(value) for name, value in amounts.items()}
        for part, amounts in resources.items()
        if amounts
    }
