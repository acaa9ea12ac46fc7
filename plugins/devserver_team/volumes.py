"""The shared volume of a team: one claim with the files, and an alias of it for each member.

An alias is a claim in the member's namespace, and a static PersistentVolume for it with the source
of the volume that holds the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from devctl.api.shared_storage import class_and_size
from devctl.api.teams import SPACE, claim_name, volume_name

Thing = Mapping[str, Any]

# Everything else in the spec of a PersistentVolume is its source, such as `csi` or `nfs`.
_NOT_SOURCE = {
    *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "volumeMode"),
    *("persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName"),
}
_COPIED = ("accessModes", "capacity", "mountOptions", "nodeAffinity", "volumeMode")


def storage(team: Thing, claims: Iterable[Thing]) -> dict[str, str] | None:
    """Namespace, name, class and size of the claim with the files; None if the team has none."""
    wanted = team["spec"].get("sharedStorage")
    if wanted is None:
        return None
    name = claim_name(team["metadata"]["name"])
    found = (c for c in claims if _place(c) == (SPACE, name))
    return {"namespace": SPACE, "name": name, **class_and_size(wanted, next(found, None))}


def bound_volume(claims: Iterable[Thing], volumes: Iterable[Thing]) -> Thing | None:
    """The volume with the files; None unless it is bound to the team's claim, and only to it.

    Args:
        claims: The team's claims in SPACE.
        volumes: The PersistentVolumes that they name.
    """
    uids = {claim["metadata"]["uid"] for claim in claims}
    return next((v for v in volumes if v["spec"].get("claimRef", {}).get("uid") in uids), None)


def aliases(
    team: str,
    namespaces: Iterable[str],
    source: Thing | None,
    claims: Iterable[Thing],
    volumes: Iterable[Thing],
) -> list[dict[str, Any]]:
    """Namespace, claim and volume of each member's alias.

    The volume comes once the claim exists, and names its UID: no other claim is ever bound to it.
    What is left out is deleted, and recreated once it is gone: its files are elsewhere. Without
    the source, nothing new is made, and what exists stays.

    Args:
        team: The team's name.
        namespaces: The members' namespaces.
        source: The volume with the files.
        claims: All claims of the team.
        volumes: The volumes of the aliases.
    """
    name, found = claim_name(team), []
    there = {_place(claim): claim for claim in claims}
    made = {str(volume["metadata"]["name"]): volume for volume in volumes}
    for namespace in sorted(namespaces):
        called = volume_name(team, namespace)
        claim, volume = there.get((namespace, name)), made.get(called)
        origin = source or volume
        if _is_going(claim) or _is_going(volume) or origin is None:
            continue
        # The source of a volume cannot change.
        if volume and _source(volume) != _source(origin):
            continue
        alias: dict[str, Any] = {"namespace": namespace, "claim": name, "name": called}
        found.append({**alias, "volume": _volume(alias, origin, claim, volume)})
    return found


def _volume(
    alias: Thing, origin: Thing, claim: Thing | None, volume: Thing | None
) -> dict[str, Any] | None:
    """The spec of an alias's volume; None until the claim exists."""
    # That of a deleted claim, until another one exists.
    uid = claim["metadata"]["uid"] if claim else volume and volume["spec"]["claimRef"]["uid"]
    if not uid:
        return None
    spec = origin["spec"]
    return {
        **_source(origin),
        **{field: spec[field] for field in _COPIED if field in spec},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": alias["namespace"],
            "name": alias["claim"],
            "uid": uid,
        },
        "persistentVolumeReclaimPolicy": "Retain",
    }


def _source(volume: Thing) -> dict[str, Any]:
    spec: Thing = volume["spec"]
    return {field: value for field, value in spec.items() if field not in _NOT_SOURCE}


def _place(thing: Thing) -> tuple[str, str]:
    return str(thing["metadata"]["namespace"]), str(thing["metadata"]["name"])


def _is_going(thing: Thing | None) -> bool:
    return bool(thing and thing["metadata"].get("deletionTimestamp"))
