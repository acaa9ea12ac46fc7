"""How a manifest becomes the owner's, and whose an existing object is.

Only the owner's own objects are ever written or deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apply.errors import ApplyError
from apply.manifests import SHARED, Key, Kind, Manifest, is_marked, is_retained, key_of, place
from devctl.api.applied import Reason
from devctl.api.labels import MANAGED_BY, MANAGER, OWNER_UID

# By which what is shared is known. Only we can write an annotation of ours (config/admission).
SHARED_IDENTITY = {MANAGED_BY: MANAGER}


@dataclass(frozen=True)
class Owner:
    """The custom resource whose objects are applied."""

    key: Key
    uid: str

    @classmethod
    def of(cls, resource: Mapping[str, Any], *, going: bool = False) -> Owner:
        """The owner that a custom resource is; `going` lets in one that is being deleted.

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
        """As people name it."""
        return str(self.key)

    def reference(self) -> dict[str, Any]:
        """The owner reference that its objects carry."""
        return {
            "apiVersion": self.key.kind.api_version,
            "kind": self.key.kind.kind,
            "name": self.key.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def was(self, reference: Mapping[str, Any]) -> bool:
        """Whether a reference names an earlier resource of this name, deleted since."""
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
    """The manifest with the identity labels and, unless it is data or shared, its owner.

    It is put into the owner's namespace. Where the owner is in none, the manifest says itself where
    it belongs: Kubernetes lets such an owner have objects anywhere. So it may where its kind is
    finalized: those are known by the owner's UID, and removed by us.

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
        message = f"{where} is not meant for the owner's namespace, {home}"
        raise ApplyError(Reason.INVALID, message)
    shared = is_marked(manifest, SHARED)
    if shared:
        identity = SHARED_IDENTITY
    labels = dict(metadata.get("labels") or {})
    for label, value in identity.items():
        if labels.get(label, value) != value:
            message = (
                f"{where} sets the label {label}, by which its owner is known, to another value"
            )
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
    """Whether an object carries every identity label."""
    labels = thing["metadata"].get("labels") or {}
    return all(labels.get(label) == value for label, value in identity.items())


def refuse_foreign(
    existing: Iterable[Mapping[str, Any]], owner: Owner, identity: Mapping[str, str]
) -> None:
    """Stop a run before its first write if it would touch what is not the owner's.

    An object that the owner controls stays its own when somebody takes the labels off.

    Raises:
        ApplyError: With reason Conflict: time does not fix it.
    """
    for thing in existing:
        if problem := _foreign(thing, owner, identity):
            raise ApplyError(Reason.CONFLICT, f"{key_of(thing)} exists and {problem}")


def refuse_unshared(existing: Iterable[Mapping[str, Any]], owner: Owner) -> None:
    """Stop a run before its first write if what is to be shared is somebody's own.

    Raises:
        ApplyError: With reason Conflict.
    """
    for thing in existing:
        if controller_of(thing) or not is_marked(thing, SHARED):
            message = f"{key_of(thing)} exists and is not what {owner} is to share with others"
            raise ApplyError(Reason.CONFLICT, message)


def refuse_going(existing: Iterable[Mapping[str, Any]], owner: Owner) -> None:
    """Stop a run before it applies anything if it would touch what is about to go.

    Raises:
        ApplyError: With reason Terminating.
    """
    for thing in existing:
        reference = controller_of(thing)
        if thing["metadata"].get("deletionTimestamp"):
            raise ApplyError(Reason.TERMINATING, f"{key_of(thing)} is still being deleted")
        if reference and owner.was(reference):
            message = f"{key_of(thing)} belongs to a deleted {owner} and has yet to go"
            raise ApplyError(Reason.TERMINATING, message)


def belongs_to(thing: Mapping[str, Any], owner: Owner) -> bool:
    """Whether an object says of itself that it is an owner's: by reference, or by the UID."""
    reference = controller_of(thing)
    if reference is not None:
        return bool(reference["uid"] == owner.uid)
    return has_identity(thing, {OWNER_UID: owner.uid})


def is_prunable(thing: Mapping[str, Any], owner: Owner, identity: Mapping[str, str]) -> bool:
    """Whether an object may be deleted: surely ours, no data, and not being deleted already."""
    return (
        belongs_to(thing, owner)
        and has_identity(thing, identity)
        and not is_retained(thing)
        and not thing["metadata"].get("deletionTimestamp")
    )


def _foreign(thing: Mapping[str, Any], owner: Owner, identity: Mapping[str, str]) -> str:
    """Whose an object is that is not the owner's; empty where it is."""
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
    return f"is not known as {owner}'s: it lacks {labels}"
