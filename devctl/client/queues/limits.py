"""What keeps a server from starting at once, before it exists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from devctl.api.devserver import home_names
from devctl.api.devserver_user import DEFAULT_FLAVOR
from devctl.api.pod_spec import shape
from devctl.api.quantities import parse_quantity
from devctl.client.queues.team_quota import known_flavors, requests_of, team_quotas
from devctl.client.settings import annotations_of
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.client.flavors import Flavor
    from devctl.kube.cluster import Cluster, Object


class Effect(StrEnum):
    """What a limit does, the worst first."""

    NEVER = "never"
    """It cannot start until somebody changes something."""
    WAITS = "waits"
    """It starts when others stop."""


@dataclass(frozen=True)
class Limit:
    """Something that keeps a server from starting at once."""

    name: str
    """Which one: `flavor`, `nodes`, `team`, `quota` or `volumes`."""
    effect: Effect
    message: str


def limits(cluster: Cluster, manifest: Object) -> Sequence[Limit]:
    """What keeps a server of a manifest from starting at once, the binding limit first.

    What the user may not see is left out.
    """
    spec = manifest["spec"]
    if spec.get("stopped"):
        return []
    size = shape(spec)[0]
    found = [*_of_volumes(cluster, manifest, size)]
    flavors = known_flavors(cluster)
    flavor = _flavor(cluster, spec.get("flavor"), flavors)
    if flavor:
        found += _of_nodes(flavor, size)
        found += _of_team(cluster, flavor, flavors, size)
        found += _of_quota(cluster, flavor, size)
    return sorted(found, key=lambda limit: list(Effect).index(limit.effect))


def _flavor(cluster: Cluster, name: str | None, flavors: Sequence[Flavor]) -> Flavor | None:
    name = name or annotations_of(cluster).get(DEFAULT_FLAVOR)
    return next((f for f in flavors if (f.name == name if name else f.default)), None)


def _of_nodes(flavor: Flavor, size: int) -> Iterator[Limit]:
    if flavor.cordoned:
        message = f"flavor `{flavor.name}` is cordoned: it takes no new servers"
        yield Limit("flavor", Effect.NEVER, message)
    if flavor.schedulable is False:
        why = flavor.message or "no node is large enough"
        yield Limit("flavor", Effect.NEVER, f"flavor `{flavor.name}` fits no node: {why}")
    elif flavor.total is not None and flavor.total < size:
        message = f"{size} pods of flavor `{flavor.name}` are more than all nodes hold"
        yield Limit("nodes", Effect.NEVER, f"{message}, {flavor.total}")
    elif flavor.free is not None and flavor.free < size:
        message = f"nodes have room for {flavor.free} more pods of flavor `{flavor.name}`"
        yield Limit("nodes", Effect.WAITS, f"{message}, and it needs {size}")


def _of_team(
    cluster: Cluster, flavor: Flavor, flavors: Sequence[Flavor], size: int
) -> Iterator[Limit]:
    quotas = team_quotas(cluster, flavors)
    if not quotas:
        return
    quota = next((each for each in quotas if each.flavor == flavor.name), None)
    if quota is None:
        team = quotas[0].team
        cordoned = {each.name for each in flavors if each.cordoned}
        names = ", ".join(f"`{each.flavor}`" for each in quotas if each.flavor not in cordoned)
        message = f"team `{team}` has no quota of flavor `{flavor.name}`"
        others = f"; it has some of {names}" if names else ""
        yield Limit("team", Effect.NEVER, message + others)
    elif quota.most < size:
        message = f"team `{quota.team}` has quota for {quota.most} pods of flavor `{flavor.name}`"
        yield Limit("team", Effect.NEVER, f"{message}, and it needs {size}")
    elif quota.free < size or quota.waiting:
        message = f"team `{quota.team}` has {quota.free} of {quota.pods} pods of flavor"
        message = f"{message} `{flavor.name}` free, and it needs {size}"
        waits = "waits" if quota.waiting == 1 else "wait"
        queue = f"; {quota.waiting} {waits} already" if quota.waiting else ""
        yield Limit("team", Effect.WAITS, message + queue)


def _of_quota(cluster: Cluster, flavor: Flavor, size: int) -> Iterator[Limit]:
    """The ResourceQuotas of the namespace, which count pods that do not run yet, too."""
    requests = {f"requests.{name}": amount for name, amount in requests_of(flavor).items()}
    requests |= {"pods": parse_quantity(1)}
    try:
        found = list(cluster.list(resources.ResourceQuota))
    except DeniedError:
        return
    for quota in found:
        if (quota.get("spec") or {}).get("scopeSelector"):
            continue
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        for name, need in requests.items():
            if name not in hard or not need:
                continue
            bound, taken = parse_quantity(hard[name]), parse_quantity(used.get(name, 0))
            if bound - taken >= need * size:
                continue
            effect = Effect.NEVER if need * size > bound else Effect.WAITS
            what = f"quota `{quota['metadata']['name']}` has {used.get(name, 0)} of {hard[name]}"
            more = f"{(need * size).normalize():f} more"
            yield Limit("quota", effect, f"{what} {name} in use, and it needs {more}")


def _of_volumes(cluster: Cluster, manifest: Object, size: int) -> Iterator[Limit]:
    shared = manifest["spec"].get("sharedVolumeClaimName")
    try:
        if shared and cluster.find(resources.PersistentVolumeClaim, shared) is None:
            message = f"there is no claim `{shared}` to mount at /shared"
            yield Limit("volumes", Effect.NEVER, message)
        for home in home_names(manifest["metadata"]["name"], size):
            claim = cluster.find(resources.PersistentVolumeClaim, home) or {}
            if (claim.get("status") or {}).get("phase") == "Lost":
                message = f"the volume of its home `{home}` is lost"
                yield Limit("volumes", Effect.NEVER, message)
    except (DeniedError, NotFoundError):
        return
