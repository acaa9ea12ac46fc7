"""The record of what a server's pods were made from, which is what runs.

The role writes it, and the observer compares it with the spec.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.pod_spec import shape

if TYPE_CHECKING:
    from collections.abc import Mapping


class MadeFrom(NamedTuple):
    """The record of a StatefulSet."""

    spec: Mapping[str, Any]
    """As `devctl.api.pod_spec.pod_spec` gives it."""
    flavor: str
    generation: int
    """The flavor's metadata.generation at the time."""
    flavor_spec: Mapping[str, Any]
    """As `devctl.api.flavors.pod_part` gives it."""

    def to_text(self) -> str:
        """The annotation MADE_FROM; equal text for equal content."""
        flavor = {"name": self.flavor, "generation": self.generation, "spec": self.flavor_spec}
        return json.dumps({"spec": self.spec, "flavor": flavor}, sort_keys=True)


def read_record(text: str | None) -> MadeFrom | None:
    """The record in an annotation; None if it is missing or invalid.

    >>> read_record(MadeFrom({"image": "a"}, "small", 3, {}).to_text()).generation
    3
    >>> read_record("{}")
    """
    try:
        record = json.loads(text or "")
        flavor = record["flavor"]
        found = MadeFrom(record["spec"], flavor["name"], flavor["generation"], flavor["spec"])
        shape(found.spec)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    kinds = (dict, str, int, dict)
    whole = all(isinstance(part, kind) for part, kind in zip(found, kinds, strict=True))
    return found if whole else None
