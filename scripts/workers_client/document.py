"""The OpenAPI document of the GPU workers API, and what is asked of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from devctl_gateway.app import create_app
from devctl_gateway.context import Context
from devctl_gateway.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from devctl_gateway.cluster.client import Cluster
    from sqlalchemy.ext.asyncio import AsyncEngine

JSON = "application/json"
Schema = dict[str, Any]
_HERE = "#/components/schemas/"


def document() -> Schema:
    """What the gateway of this checkout answers at /gpu-workers/openapi.json."""
    # Nothing is asked here, so there is neither a store nor a cluster.
    nothing = Context(Settings(""), cast("AsyncEngine", None), cast("Cluster", None))
    return create_app(nothing).openapi()


def as_text(found: Schema) -> str:
    """A document as it is in the repository."""
    return json.dumps(found, indent=1) + "\n"


class Operation(NamedTuple):
    """One method of one path."""

    name: str
    method: str
    path: str
    details: Schema

    @property
    def answers(self) -> Schema:
        """Schemas of its answer by media type; none if the answer has no content."""
        responses = self.details["responses"]
        good = min(status for status in responses if status.startswith("2"))
        content = responses[good].get("content", {})
        return {media: each.get("schema", {}) for media, each in content.items()}

    @property
    def body(self) -> Schema | None:
        """The schema of its body; None if it takes none."""
        asked = self.details.get("requestBody")
        return asked["content"][JSON]["schema"] if asked else None

    def parameters(self, where: str) -> list[Schema]:
        """Those of its path, query or header."""
        return [each for each in self.details["parameters"] if each["in"] == where]


def operations(found: Schema) -> Iterator[Operation]:
    """All of a document, by name. Schemas of parameters are whole."""
    for name, method, path, details in sorted(
        (details["operationId"], method.upper(), path, details)
        for path, methods in found["paths"].items()
        for method, details in methods.items()
    ):
        asked = [_whole(found, each) for each in details.get("parameters", [])]
        yield Operation(name, method, path, {**details, "parameters": asked})


def _whole(found: Schema, part: Any) -> Any:
    """A part of a document in which components stand where they are named."""
    if isinstance(part, list):
        return [_whole(found, each) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return found["components"]["schemas"][part["$ref"].removeprefix(_HERE)]
    return {key: _whole(found, each) for key, each in part.items()}


def model_of(schema: Schema) -> str:
    """The name of the component that a schema is; empty if it is none.

    >>> model_of({"anyOf": [{"$ref": "#/components/schemas/Rotation"}, {"type": "null"}]})
    'Rotation'
    """
    return next(iter(_references(schema)), "") if schema.get("type") is None else ""


def reachable(found: Schema, schemas: Iterable[Schema]) -> set[str]:
    """The names of all components that schemas are made of."""
    seen: set[str] = set()
    todo = [name for schema in schemas for name in _references(schema)]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += _references(found["components"]["schemas"][name])
    return seen


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].removeprefix(_HERE)
        for each in part.values():
            yield from _references(each)
    elif isinstance(part, list):
        for each in part:
            yield from _references(each)
