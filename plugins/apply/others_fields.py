"""Fields that a role sets once, and that are another's afterwards.

A queue resumes a Job that was made suspended; a person scales what was made with one replica.
Under server-side apply, a field that a later manifest leaves out is removed while it is still the
applier's. So it is repeated as it is while we hold it, and left out as soon as another does.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from apply.settled import fields_of
from devctl.api.labels import GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apply.manifests import Manifest

CREATE_ONLY_FIELDS = f"{GROUP}/create-only-fields"
"""Annotation of a manifest: paths such as `spec.suspend`, apart by commas, none into a list."""


def leave_to_others(manifest: Manifest, live: Mapping[str, Any], manager: str) -> Manifest:
    """The manifest for an object that is there: with the live values of its create-only fields.

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
