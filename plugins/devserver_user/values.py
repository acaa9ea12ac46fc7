"""The identity of a DevServerUser's children, and the values for its role's templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.manifests import RETAINED
from apply.values import Values

from devctl.api import devserver_user as user
from devctl.api import queues
from devctl.api.labels import MANAGED_BY, MANAGER, OWNER, OWNER_NAME, owner_digest
from devctl.api.shared_storage import class_and_size
from devserver_user.network import egress
from devserver_user.queues import local_queues, moved
from devserver_user.quota import hard

_CONFINED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


def identity(owner: Mapping[str, Any]) -> dict[str, str]:
    """The labels that identify children of a DevServerUser.

    The namespace outlives the object. The user's name is part of the identity, so that an object of
    the same name for another person gets a conflict instead of these files.

    >>> spec = {"username": "alice@company.com"}
    >>> labels = identity({"metadata": {"name": "alice"}, "spec": spec})
    >>> labels["devops.yourcompany.com/devserveruser"], labels["devops.yourcompany.com/owner"]
    ('alice', '22c9943ba6fdf0104cc21b7b')
    """
    return {
        MANAGED_BY: MANAGER,
        user.LABEL: str(owner["metadata"]["name"]),
        OWNER: owner_digest(str(owner["spec"]["username"])),
    }


def values(  # noqa: PLR0913 - everything that its task reads
    owner: Mapping[str, Any],
    *,
    settings: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    kueue: Sequence[Mapping[str, Any]],
    teams: Sequence[Mapping[str, Any]],
    existing: Sequence[Mapping[str, Any]],
) -> Values:
    """The values for the templates.

    Args:
        owner: The DevServerUser.
        settings: The ConfigMap of devctl's settings.
        claims: The user's shared claim, if there is one.
        kueue: The CustomResourceDefinition of Kueue's ClusterQueues, if Kueue is installed.
        teams: Every DevServerTeam.
        existing: The user's LocalQueues.

    Raises:
        ApplyError: The settings cannot be read.
    """
    name, spec = str(owner["metadata"]["name"]), owner["spec"]
    username = str(spec["username"])
    notes = {RETAINED: "true", user.USER_NAME: username}
    if flavor := spec.get("defaultFlavor"):
        notes[user.DEFAULT_FLAVOR] = str(flavor)
    team = str(spec.get("team", ""))
    labels = {**_CONFINED, user.SUSPENDED: "true" if spec.get("suspended") else "false"}
    if team:
        labels[queues.QUEUES] = queues.ENABLED
        notes[queues.TEAM] = team
        notes[queues.PRIORITY] = str(spec.get("priority", queues.Priority.NORMAL))
    wanted = local_queues(team, teams) if kueue else {}
    data = next((found.get("data") or {} for found in settings), {})
    names = {
        "space": user.namespace_of(name, spec.get("namespace")),
        "annotations": notes,
        "namespace_labels": labels,
        "queues": wanted,
        "username": username,
        "account": user.AUTOMATION,
        "access": list(user.ACCESS),
        "acts_for": user.ACTS_FOR,
        "quota": user.QUOTA,
        "hard": hard(spec.get("quota") or {}),
        "no_system_priority": user.NO_SYSTEM_PRIORITY,
        "objects": user.OBJECTS,
        "limits": user.LIMITS,
        "network": user.NETWORK,
        "egress": egress(data),
        "shared": _shared(name, spec.get("sharedStorage"), claims),
        "owner_annotations": {OWNER_NAME: username},
    }
    return Values(names, remove=moved(wanted, existing))


def _shared(
    name: str, wanted: Mapping[str, Any] | None, claims: Sequence[Mapping[str, Any]]
) -> dict[str, str] | None:
    """Name, class and size of the shared claim."""
    if wanted is None:
        return None
    claim = user.shared_claim_name(name)
    found = (found for found in claims if found["metadata"]["name"] == claim)
    return {"name": claim, **class_and_size(wanted, next(found, None))}
