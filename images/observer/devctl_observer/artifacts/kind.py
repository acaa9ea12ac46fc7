"""A claim of a job, as requests name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import PersistentVolumeClaim

from devctl_observer.control.kind import Kind
from devctl_observer.watching.kept import without_history

if TYPE_CHECKING:
    from collections.abc import Mapping

# lightkube's own class is typed, and takes no manifest that holds a part of an object only.
_Claim = create_namespaced_resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


def parse_claim(obj: Mapping[str, Any]) -> PersistentVolumeClaim:
    """A claim from the API's JSON."""
    return without_history(msgspec.convert(obj, PersistentVolumeClaim))


CLAIM = Kind(_Claim, "v1", "persistentvolumeclaims", parse_claim)
