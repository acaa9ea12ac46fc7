"""Values with every field, made from the GPU workers API's own document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT = json.loads((REPOSITORY / "docs" / "workers-openapi.json").read_text())
AT = "2026-01-02T03:04:05Z"


def example(schema: dict[str, Any]) -> Any:
    """A value that has everything that a schema names."""
    if "$ref" in schema:
        return example(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if "enum" in schema or "const" in schema:
        return schema.get("const") or schema["enum"][0]
    if "properties" in schema:
        return {name: example(each) for name, each in schema["properties"].items()}
    if schema.get("format") == "date-time":
        return AT
    values = schema.get("additionalProperties")
    made: dict[str, Callable[[], Any]] = {
        "array": lambda: [example(schema["items"])],
        "boolean": lambda: True,
        "integer": lambda: 1,
        "object": lambda: {"key": example(values) if isinstance(values, dict) else "value"},
        "string": lambda: "text",
    }
    return made[schema["type"]]()
