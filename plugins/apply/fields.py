"""Field ownership, according to the server's record of who applied which field (managedFields)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from apply.manifests import Manifest
from devctl.api.labels import GROUP

# These identify the object; managedFields does not contain them.
_NAMES = ("name", "namespace", "uid")
CREATE_ONLY_FIELDS = f"{GROUP}/create-only-fields"
"""Annotation of a manifest: comma-separated paths such as `spec.suspend`, none into a list."""


def is_settled(manifest: Mapping[str, Any], live: Mapping[str, Any], manager: str) -> bool:
    """Whether applying a manager's manifest would change nothing.

    The server could tell, but each apply is a request, and an identical PersistentVolumeClaim is
    even stored again, under a new resourceVersion. An apply changes nothing if the object has every
    value of the manifest, and the server's record of our fields lists exactly the manifest's.
    Anything that this check does not understand counts as a change, and the server decides.
    """
    fields = fields_of(live, manager, manifest["apiVersion"])
    metadata = {k: v for k, v in manifest["metadata"].items() if k not in _NAMES}
    wanted = {k: v for k, v in manifest.items() if k not in {"apiVersion", "kind"}}
    return fields is not None and _equal(wanted | {"metadata": metadata}, live, fields)


def fields_of(live: Mapping[str, Any], manager: str, version: str) -> dict[str, Any] | None:
    """The server's record of the fields that a manager applied."""
    for entry in live["metadata"].get("managedFields") or []:
        if (
            (entry.get("manager"), entry.get("operation")) == (manager, "Apply")
            and entry.get("apiVersion") == version
            and not entry.get("subresource")
        ):
            fields: dict[str, Any] = entry.get("fieldsV1") or {}
            return fields
    return None


def leave_to_others(manifest: Manifest, live: Mapping[str, Any], manager: str) -> Manifest:
    """The manifest for an existing object: with the live values of its create-only fields.

    A role sets these once, and then others own them: a queue resumes a Job that was created
    suspended; a user scales what was created with one replica. Server-side apply removes a field
    that a later manifest omits while the applier still owns it. Therefore the live value is
    repeated as long as we own the field, and omitted as soon as another manager does.

    Args:
        manifest: What was rendered.
        live: The object.
        manager: Our name in its managedFields.
    """
    annotations = manifest["metadata"].get("annotations") or {}
    paths = [path.split(".") for path in annotations.get(CREATE_ONLY_FIELDS, "").split(",") if path]
    if not paths:
        return manifest
    held = fields_of(live, manager, manifest["apiVersion"]) or {}
    manifest = deepcopy(manifest)
    for path in paths:
        *folders, name = path
        at, there, ours = manifest, live, held
        for folder in folders:
            at, there, ours = at.get(folder, {}), there.get(folder, {}), ours.get(f"f:{folder}", {})
        if f"f:{name}" in ours and name in there:
            at[name] = there[name]
        else:
            at.pop(name, None)
    return manifest


def _equal(wanted: Any, live: Any, fields: Mapping[str, Any]) -> bool:
    """Whether the live value is equal, and its recorded fields are exactly the wanted ones."""
    inner = {name: value for name, value in fields.items() if name != "."}
    if not inner:
        # A scalar, or an atomic list or map.
        return type(wanted) is type(live) and bool(wanted == live)
    if isinstance(wanted, dict) and isinstance(live, dict):
        return inner.keys() == {f"f:{name}" for name in wanted} and all(
            name in live and _equal(value, live[name], inner[f"f:{name}"])
            for name, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(live, list) and len(inner) == len(wanted):
        return all(_item_is_equal(name, wanted, live, below) for name, below in inner.items())
    return False


def _item_is_equal(
    name: str, wanted: list[Any], live: list[Any], fields: Mapping[str, Any]
) -> bool:
    """The same for a list item that a recorded name identifies, by keys or by value."""
    sort, _, text = name.partition(":")
    value: Any = json.loads(text) if sort in {"k", "v"} else None
    if sort == "v":
        return value in wanted and value in live
    if sort != "k":
        return False
    # A key with a default, such as a port's protocol, may be missing in the manifest.
    asked = [item for item in wanted if all(item.get(k, v) == v for k, v in value.items())]
    there = [item for item in live if all(item.get(k) == v for k, v in value.items())]
    return len(asked) == len(there) == 1 and _equal(asked[0], there[0], fields)
