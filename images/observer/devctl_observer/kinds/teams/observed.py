"""The claims and volumes of a team, as they are observed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lightkube.resources.core_v1 import PersistentVolume, PersistentVolumeClaim

from devctl.api.teams import SPACE, claim_name, volume_name
from devctl_observer.control.standard import Child
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.teams.model import Team
from devctl_observer.watching.store import Key


def files_key(team: Team) -> Key:
    """The claim with the team's files."""
    return Key(SPACE, claim_name(team.metadata.name))


def made(team: Team, namespaces: Iterable[str], files: PersistentVolumeClaim | None) -> list[Child]:
    """The claims and volumes that the role creates: those of members once the files have a volume.

    Args:
        team: The team.
        namespaces: The members' namespaces.
        files: The claim with the team's files, if it exists.
    """
    if not team.spec.shared_storage:
        return []
    found = [Child(PersistentVolumeClaim, files_key(team))]
    for namespace in sorted(namespaces) if volume_of(files) else ():
        name = team.metadata.name
        found.append(Child(PersistentVolumeClaim, Key(namespace, claim_name(name))))
        found.append(Child(PersistentVolume, Key("", volume_name(name, namespace))))
    return found


def volume_of(claim: PersistentVolumeClaim | None) -> str:
    """The volume that a claim is bound to; empty if there is none."""
    if not claim or not claim.spec or not claim.status or claim.status.phase != "Bound":
        return ""
    return claim.spec.volumeName or ""


def members_claims(children: Iterable[Any]) -> Sequence[PersistentVolumeClaim]:
    """The claims of members by namespace, without those that are being deleted."""
    claims = (child for child in children if isinstance(child, PersistentVolumeClaim))
    found = ((meta_of(claim.metadata), claim) for claim in claims)
    ours = [(m.namespace, claim) for m, claim in found if not m.deletion_timestamp]
    return [claim for space, claim in sorted(ours, key=lambda pair: pair[0]) if space != SPACE]
