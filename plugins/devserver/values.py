"""The labels of a server's objects, and all values for the role's templates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from apply.values import Values

from devctl.api import labels
from devctl.api.devserver import PORTS
from devctl.api.flavors import offer
from devctl.api.pod_spec import shape
from devctl.api.queues import MARK
from devserver.homes import claim_templates, homes
from devserver.hooks import hooks_of
from devserver.placement import preferred, settled
from devserver.pods import environment, is_serving, made_from, recorded, update_strategy
from devserver.queue import leaves_queue, must_be_recreated, queue_labels, refuse_too_large


def identity(server: Mapping[str, Any]) -> dict[str, str]:
    """The labels that mark an object as the server's.

    Homes outlive their server. The owner is part of the identity, so that someone else's server of
    the same name gets a conflict instead of another user's files.
    """
    return {
        labels.MANAGED_BY: labels.MANAGER,
        labels.DEVSERVER: str(server["metadata"]["name"]),
        labels.OWNER: labels.owner_digest(str(server["spec"]["owner"])),
    }


def values(  # noqa: PLR0913 - everything that its task reads
    server: Mapping[str, Any],
    *,
    flavors: Sequence[Mapping[str, Any]],
    stateful_sets: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    teams: Sequence[Mapping[str, Any]],
    plans: Sequence[Mapping[str, Any]] = (),
    files: Mapping[str, str],
) -> Values:
    """The values for the templates.

    Args:
        server: The DevServer.
        flavors: Every DevServerFlavor.
        stateful_sets: The server's StatefulSet, if it exists.
        claims: The existing homes.
        pods: The existing pods.
        teams: Every DevServerTeam.
        plans: The CachePlan, if there is one.
        files: The scripts that every server gets.

    Raises:
        ApplyError: The server's flavor is needed and cannot be determined, or its team has not
            enough quota.
    """
    statefulset = next(iter(stateful_sets), None)
    name, known, live = server["metadata"]["name"], identity(server), server["spec"]
    owner = {labels.OWNER_NAME: str(live["owner"])}
    made = made_from(server, flavors, statefulset, pods)
    remove: list[dict[str, Any]] = []
    if not live.get("stopped", False) and not is_serving(server, pods):
        cordoned = {f["metadata"]["name"] for f in flavors if offer(f["spec"]).cordoned}
        refuse_too_large(made, teams, cordoned)
        if statefulset and must_be_recreated(statefulset, recorded(server, statefulset), made):
            remove, statefulset = [dict(statefulset)], None
    if live.get("stopped", False) and statefulset and leaves_queue(statefulset, pods):
        remove, statefulset = [dict(statefulset)], None
    queue = queue_labels(made)
    hooks = hooks_of(server, made.spec)
    spec, flavor = made.spec, made.flavor_spec
    nodes, _ = shape(spec)
    resources = flavor["resources"]
    limits, requests = resources.get("limits", {}), resources["requests"]
    size = live["persistentHomeSize"]
    replicas = 0 if live.get("stopped", False) else nodes
    # If no pod is missing, the StatefulSet's controller need not be woken: keep its annotation.
    woken = server if len(pods) < replicas else statefulset
    names = {
        "name": name,
        "labels": known,
        "replicas": replicas,
        "update_strategy": update_strategy(server, statefulset, pods, made),
        "annotations": {labels.MADE_FROM: made.to_text(), **_wake(woken)},
        "pod_annotations": {
            labels.FLAVOR: made.flavor,
            labels.FLAVOR_GENERATION: str(made.generation),
            **({labels.HOOKS: hooks.names} if hooks.names else {}),
            **(MARK if queue else {}),
        },
        "hooks": hooks._asdict(),
        "queue": queue,
        "pod_labels": known | queue,
        "image": spec["image"],
        "ports": list(PORTS),
        "environment": environment(name, spec),
        "resources": quantities(resources),
        "node_selector": flavor.get("nodeSelector", {}),
        "preferred": preferred(spec["image"], plans, settled(server, statefulset, pods, made)),
        "tolerations": flavor.get("tolerations", []),
        # Shared memory counts towards the container's memory, whose limit bounds both.
        "shared_memory": str(limits.get("memory", requests.get("memory", "64Mi"))),
        "shared_claim": spec.get("sharedVolumeClaimName"),
        "home_annotations": owner,
        "homes": homes(name, nodes, size, claims),
        "claim_templates": claim_templates(
            statefulset, {"labels": known, "annotations": owner}, size
        ),
        "utilities": utilities_name(files),
        "scripts": files,
    }
    return Values(names, remove=remove)


def _wake(woken: Mapping[str, Any] | None) -> dict[str, str]:
    """The wake annotation of an object, to be passed on.

    The StatefulSet's controller backs off after each pod that a quota refuses, up to a quarter of
    an hour. Any change makes it retry immediately.
    """
    value = (woken or {}).get("metadata", {}).get("annotations", {}).get(labels.WAKE)
    return {labels.WAKE: str(value)} if value else {}


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


def utilities_name(scripts: Mapping[str, str]) -> str:
    """The name of the ConfigMap with the scripts of every server, derived from its content.

    A release with different scripts gets a new ConfigMap.

    >>> utilities_name({"start": "exec sleep infinity"})
    'devctl-utilities-699a9470e5'
    """
    text = json.dumps(dict(scripts), sort_keys=True)
    return f"devctl-utilities-{sha256(text.encode()).hexdigest()[:10]}"
