"""Keys and serialisation of manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from apply.errors import ApplyError
from devctl.api.applied import Reason
from devctl.api.labels import GROUP

Manifest = dict[str, Any]

# Created if absent and never changed, such as a generated key.
CREATE_ONLY = f"{GROUP}/create-only"

# Outlives its owner, as data does.
RETAINED = f"{GROUP}/retained"

# A volume or claim that leads to files of another claim: it is deleted with its owner, and if it
# cannot be applied, everything else still is.
ALIAS = f"{GROUP}/alias"

# Has no owner: all objects of a namespace share it, and it stays when the last of them is deleted.
SHARED = f"{GROUP}/shared"

_NOT_ASCII = re.compile(r"[^\x20-\x7e]")


class Kind(NamedTuple):
    """A kind and the API version that is used for it."""

    api_version: str
    kind: str


class Key(NamedTuple):
    """What identifies an object."""

    kind: Kind
    name: str
    namespace: str = ""
    """Empty if it is cluster-scoped."""

    def __str__(self) -> str:
        """As messages name it."""
        return f"{self.kind.kind} {place(self.namespace, self.name)}"


def place(namespace: str, name: str) -> str:
    """A name with its namespace, as messages show it."""
    return f"{namespace}/{name}" if namespace else name


def kind_of(thing: Mapping[str, Any]) -> Kind:
    """The kind of an object, or of anything with apiVersion and kind."""
    return Kind(str(thing["apiVersion"]), str(thing["kind"]))


def key_of(thing: Mapping[str, Any]) -> Key:
    """What identifies an object."""
    metadata = thing["metadata"]
    return Key(kind_of(thing), str(metadata["name"]), str(metadata.get("namespace", "")))


def is_marked(thing: Mapping[str, Any], annotation: str) -> bool:
    """Whether an annotation of ours is set to true."""
    annotations = thing["metadata"].get("annotations") or {}
    return bool(annotations.get(annotation) == "true")


def is_retained(thing: Mapping[str, Any]) -> bool:
    """Whether an object outlives its owner, as data does: never owned, never pruned."""
    is_data = thing["kind"] == "PersistentVolumeClaim" and not is_marked(thing, ALIAS)
    return is_data or is_marked(thing, RETAINED)


def to_yaml(value: Any, **options: Any) -> str:
    r"""A value as ASCII JSON that means the same as YAML.

    JSON escapes a character beyond 16 bits, such as an emoji, as two surrogates. libyaml and the
    API server, which reads every apply as YAML, reject these.

    >>> print(to_yaml({"a": "\U0001f600"}))
    {"a": "\U0001F600"}
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    # All of these are inside quotes.
    return _NOT_ASCII.sub(lambda found: f"\\U{ord(found[0]):08X}", text)


def unique(manifests: Iterable[Manifest]) -> dict[Key, Manifest]:
    """The manifests by key, in order.

    Raises:
        ApplyError: Two manifests name the same object.
    """
    found: dict[Key, Manifest] = {}
    for manifest in manifests:
        key = key_of(manifest)
        if key in found:
            raise ApplyError(Reason.TEMPLATE_ERROR, f"{key} is rendered twice")
        found[key] = manifest
    return found
