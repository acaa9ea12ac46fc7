"""Gives manifests their owner, and checks who owns existing objects.

Only the owner's objects are ever written or deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apply.errors import ApplyError
from apply.manifests import SHARED, Key, Kind, Manifest, is_marked, is_retained, key_of, place
from devctl.api.applied import Reason
from devctl.api.labels import MANAGED_BY, MANAGER, OWNER_UID

# The labels of shared objects. Only devctl can write its own annotations (config/admission).
SHARED_IDENTITY = {MANAGED_BY: MANAGER}


@dataclass(frozen=True)
class Owner:
    """The custom resource whose objects are applied."""

    key: Key
    uid: str

    @classmethod
    def of(cls, resource: Mapping[str, Any], *, going: bool = False) -> Owner:
        """The owner for a custom resource; `going` accepts one that is being deleted.

        Raises:
            ApplyError: A field is missing, or the resource is being deleted.
        """
        try:
            owner = cls(key_of(resource), str(resource["metadata"]["uid"]))
        except (KeyError, TypeError) as error:
            raise ApplyError(Reason.INVALID, f"the owner lacks {error}") from error
        if resource["metadata"].get("deletionTimestamp") and not going:
            raise ApplyError(Reason.TERMINATING, f"{owner} is being deleted; nothing is applied")
        return owner

    def __str__(self) -> str:
        """As messages name it."""
        return str(self.key)

    def reference(self) -> dict[str, Any]:
        """The owner reference for its objects."""
        return {
            "apiVersion": self.key.kind.api_version,
            "kind": self.key.kind.kind,
            "name": self.key.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def was(self, reference: Mapping[str, Any]) -> bool:
        """Whether a reference points to an earlier, deleted resource of the same name."""
        kind, name, _ = self.key
        group = kind.api_version.partition("/")[0]
        return (
            str(reference["apiVersion"]).partition("/")[0] == group
            and (reference["kind"], reference["name"]) == (kind.kind, name)
            and reference["uid"] != self.uid
        )


def stamp(
    manifest: Manifest,
    owner: Owner,
    identity: Mapping[str, str],
    finalized: Collection[Kind] = frozenset(),
) -> Manifest:
    """The manifest with the identity labels and, unless it is data or shared, its owner reference.

    It gets the owner's namespace. If the owner is cluster-scoped, the manifest states its own
    namespace: Kubernetes lets such an owner have objects anywhere. It may also do so if its kind is
    finalized: such objects carry the owner's UID as a label, and we delete them.

    Raises:
        ApplyError: The manifest names another namespace, or gives an identity label another value.
    """
    metadata = manifest["metadata"]
    where = key_of(manifest)
    home = owner.key.namespace
    namespace = where.namespace or home
    apart = bool(home) and namespace != home
    is_finalized = where.kind in finalized
    if apart and not is_finalized:
        message = f"{where} is outside the owner's namespace, {home}"
        raise ApplyError(Reason.INVALID, message)
    shared = is_marked(manifest, SHARED)
    if shared:
        identity = SHARED_IDENTITY
    labels = dict(metadata.get("labels") or {})
    for label, value in identity.items():
        if labels.get(label, value) != value:
            message = f"{where} sets the owner's label {label} to a different value"
            raise ApplyError(Reason.INVALID, message)
    known = {OWNER_UID: owner.uid} if is_finalized else {}
    stamped = metadata | {"labels": {**labels, **identity, **known}}
    if namespace:
        stamped["namespace"] = namespace
    if not apart and not shared and not is_retained(manifest):
        stamped["ownerReferences"] = [owner.reference()]
    return manifest | {"metadata": stamped}


def controller_of(thing: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The reference to the object's controlling owner, if it has one."""
    references: list[Mapping[str, Any]] = thing["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


def has_identity(thing: Mapping[str, Any], identity: Mapping[str, str]) -> bool:
    """Whether an object has every identity label."""
    labels = thing["metadata"].get("labels") or {}
    return all(labels.get(label) == value for label, value in identity.items())


def refuse_foreign(
    existing: Iterable[Mapping[str, Any]], owner: Owner, identity: Mapping[str, str]
) -> None:
    """Stop a run before its first write if it would touch an object that is not the owner's.

    An object that the owner controls remains the owner's if someone removes the labels.

    Raises:
        ApplyError: With reason Conflict, because retrying does not help.
    """
    for thing in existing:
        if problem := _foreign(thing, owner, identity):
            message = f"{key_of(thing)} exists and {problem}; choose another name, or delete it"
            raise ApplyError(Reason.CONFLICT, message)


def refuse_unshared(existing: Iterable[Mapping[str, Any]], owner: Owner) -> None:
    """Stop a run before its first write if an object to be shared has an owner or no mark.

    Raises:
        ApplyError: With reason Conflict.
    """
    for thing in existing:
        if controller_of(thing) or not is_marked(thing, SHARED):
            message = f"{key_of(thing)} exists and is not a shared object that {owner} may use"
            raise ApplyError(Reason.CONFLICT, message)


def refuse_going(existing: Iterable[Mapping[str, Any]], owner: Owner) -> None:
    """Stop a run before it applies anything if it would touch an object that is about to go away.

    Raises:
        ApplyError: With reason Terminating.
    """
    for thing in existing:
        reference = controller_of(thing)
        if thing["metadata"].get("deletionTimestamp"):
            raise ApplyError(Reason.TERMINATING, f"{key_of(thing)} is still being deleted")
        if reference and owner.was(reference):
            message = f"{key_of(thing)} belongs to a deleted {owner} and awaits garbage collection"
            raise ApplyError(Reason.TERMINATING, message)


def belongs_to(thing: Mapping[str, Any], owner: Owner) -> bool:
    """Whether an object is marked as the owner's, by its owner reference or the UID label."""
    reference = controller_of(thing)
    if reference is not None:
        return bool(reference["uid"] == owner.uid)
    return has_identity(thing, {OWNER_UID: owner.uid})


def is_prunable(thing: Mapping[str, Any], owner: Owner, identity: Mapping[str, str]) -> bool:
    """Whether an object may be deleted: certainly ours, not data, not being deleted already."""
    return (
        belongs_to(thing, owner)
        and has_identity(thing, identity)
        and not is_retained(thing)
        and not thing["metadata"].get("deletionTimestamp")
    )


def _foreign(thing: Mapping[str, Any], owner: Owner, identity: Mapping[str, str]) -> str:
    """Why an object is not the owner's; empty if it is."""
    if belongs_to(thing, owner):
        return ""
    reference = controller_of(thing)
    if reference and not owner.was(reference):
        holder = f"{reference['kind']} {place(owner.key.namespace, reference['name'])}"
        return f"belongs to {holder}, not to {owner}"
    if holder_uid := (thing["metadata"].get("labels") or {}).get(OWNER_UID):
        return f"belongs to UID {holder_uid}, not to {owner}"
    if has_identity(thing, identity):
        return ""
    labels = ", ".join(f"{label}={value}" for label, value in identity.items())
    return f"does not belong to {owner}: it lacks the labels {labels}"
