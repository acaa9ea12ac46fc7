"""What a claim has been allocated on this node, and whether it can be handed out. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.names import DRIVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from devctl_dra_plugin.devices import Device

_UID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,62}", re.ASCII)


class ClaimError(Exception):
    """Why a claim cannot be prepared."""


@dataclass(frozen=True)
class Given:
    """A GPU that a claim has been allocated."""

    request: str
    """The name of its request, without that of a choice in it."""
    index: int
    uuid: str
    minor: int | None
    """None if it is made up."""
    admin: bool = False
    """For an administrator's access: others use it as well."""


@dataclass(frozen=True)
class Shared:
    """What the containers of a request see of the node's cache, read-only."""

    request: str
    paths: tuple[str, ...]
    """In the cache's folder."""
    is_offline: bool = False
    """Whether all models that were asked for are there."""


@dataclass(frozen=True)
class Preparation:
    """A claim that the node holds, and its GPUs."""

    uid: str
    namespace: str
    name: str
    given: tuple[Given, ...]
    prepared: bool = True
    """Whether the kubelet has asked for it since the node started; false if it was only found."""
    shared: tuple[Shared, ...] = ()

    def __str__(self) -> str:
        """As people know it."""
        return f"{self.namespace}/{self.name}"


def is_uid(text: str) -> bool:
    """Whether a text can be a UID, and part of a file's name.

    >>> is_uid("0f2c3a1e-0000-4000-8000-000000000001"), is_uid("../x")
    (True, False)
    """
    return _UID.fullmatch(text) is not None


def plan(claim: Mapping[str, Any], node: str, devices: Iterable[Device]) -> Preparation:
    """What a claim gets on this node.

    An unhealthy GPU is no obstacle: its taint keeps claims away that do not tolerate it.

    Raises:
        ClaimError: It is not allocated here, or what it is allocated is not there.
    """
    metadata = claim["metadata"]
    known = {each.name: each for each in devices}
    given = []
    for result in _results(claim, node):
        device = known.get(result["device"])
        if device is None:
            raise ClaimError(f"node `{node}` has no device `{result['device']}`")
        request = result["request"].partition("/")[0]
        admin = result.get("adminAccess") is True
        given.append(Given(request, device.index, device.uuid, device.minor, admin))
    if not given:
        raise ClaimError(f"no device of {DRIVER} on node `{node}` is allocated to it")
    return Preparation(metadata["uid"], metadata["namespace"], metadata["name"], tuple(given))


def found_in_use(
    claim: Mapping[str, Any], node: str, devices: Iterable[Device]
) -> Preparation | None:
    """A claim that a pod of this node may be using, found without the kubelet's asking."""
    if not claim.get("status", {}).get("reservedFor") or not is_uid(claim["metadata"]["uid"]):
        return None
    try:
        planned = plan(claim, node, devices)
    except ClaimError:
        return None
    return Preparation(planned.uid, planned.namespace, planned.name, planned.given, prepared=False)


def superseded(wanted: Preparation, held: Iterable[Preparation]) -> list[str]:
    """The UIDs of claims that the node holds in vain, and this one replaces.

    A claim whose pod was deleted by force is gone from the API server while the container may
    still run: until the kubelet has unprepared it, its GPUs are nobody else's. One that the
    kubelet has not asked for since the node started cannot have such a container.

    Raises:
        ClaimError: Another one must be unprepared first.
    """
    gpus = {each.index for each in wanted.given if not each.admin}
    found = []
    for other in held:
        if other.uid == wanted.uid:
            continue
        same_name = (other.namespace, other.name) == (wanted.namespace, wanted.name)
        shared = gpus & {each.index for each in other.given if not each.admin}
        if not (same_name or shared):
            continue
        if other.prepared:
            what = f"GPU {min(shared)}" if shared else "its name"
            raise ClaimError(f"claim {other} (UID {other.uid}) still holds {what} on this node")
        found.append(other.uid)
    return found


def _results(claim: Mapping[str, Any], node: str) -> list[Mapping[str, Any]]:
    """The driver's own devices on this node in a claim's allocation."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", [])
    return [each for each in results if each["driver"] == DRIVER and each["pool"] == node]
