"""What OpenAPI says of the gateway: its operations, the IDs that they take, and their bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from devctl_gateway.app import create_app
from devctl_gateway.context import Context
from devctl_gateway.settings import PREFIX, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl_gateway.cluster.client import Cluster
    from sqlalchemy.ext.asyncio import AsyncEngine

Thing = dict[str, Any]
_IDS = {"account", "actor", "target"}
"""Parameters that are IDs, and not called so."""


@cache
def document() -> Thing:
    """The whole description."""
    nothing = Context(Settings(""), cast("AsyncEngine", None), cast("Cluster", None))
    found: Thing = create_app(nothing).openapi()
    return found


@dataclass(frozen=True)
class Operation:
    """One of its operations; its text is its method and its path without the prefix."""

    method: str
    whole_path: str

    def __str__(self) -> str:
        """Such as `GET /jobs/{job_id}`."""
        return f"{self.method} {self.path}"

    @property
    def path(self) -> str:
        """Without the prefix."""
        return self.whole_path.removeprefix(PREFIX)

    @property
    def said(self) -> Thing:
        """What is said of it."""
        found: Thing = document()["paths"][self.whole_path][self.method.lower()]
        return found

    @property
    def body(self) -> Thing | None:
        """The schema of what it takes; None for nothing."""
        return next(_schemas(self.said.get("requestBody", {})), None)

    @property
    def answers(self) -> list[Thing]:
        """The schemas of what it answers if all is well."""
        said = self.said["responses"].items()
        return [each for code, answer in said if code[0] == "2" for each in _schemas(answer)]

    @property
    def ids(self) -> set[str]:
        """Its parameters and fields that are IDs."""
        names = {each["name"] for each in self.said.get("parameters", [])}
        names |= (self.body or {}).get("properties", {}).keys()
        return {name for name in names if name.endswith("_id") or name in _IDS}


@cache
def operations() -> list[Operation]:
    """All of them."""
    return [
        Operation(method.upper(), path)
        for path, methods in document()["paths"].items()
        for method in methods
    ]


def resolved(schema: Thing) -> Thing:
    """A schema that may be a reference, or one of null and something."""
    if name := schema.get("$ref"):
        found: Thing = document()["components"]["schemas"][name.rpartition("/")[2]]
        return found
    some = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    return resolved(some[0]) if some else schema


def _schemas(content: Thing) -> Iterator[Thing]:
    for kind, said in content.get("content", {}).items():
        if kind == "application/json":
            yield resolved(said["schema"])
