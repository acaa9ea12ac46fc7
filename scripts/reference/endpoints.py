"""The page of the GPU workers API, made from its OpenAPI document."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from reference import rst
from reference.bounds import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LABEL = "gpu-workers-"
"""What the labels of schemas begin with."""
_INTRODUCTION = """
Made from its :download:`OpenAPI document </workers-openapi.json>`, which a gateway has at
``/gpu-workers/openapi.json``. ``Client.workers.api`` has a method for each operation, by its name.

Requests prove who asks with ``Authorization: Bearer TOKEN``: a JSON Web Token or an API key. An
operation that names no role is for everybody known by one. Whatever goes wrong is answered with a
:ref:`Problem <{label}Problem>`, as ``application/problem+json``. Lists are answered in pages:
``next_cursor`` of one is ``cursor`` of the next.
"""


class _Operation(NamedTuple):
    """One method of one path."""

    tag: str
    method: str
    path: str
    details: dict[str, Any]


def page(document: Path) -> str:
    """All operations by what they are about, and all that they ask and answer.

    Args:
        document: The file.
    """
    found = json.loads(document.read_text())
    every = [
        _Operation(details["tags"][0], method.upper(), path, details)
        for path, methods in found["paths"].items()
        for method, details in methods.items()
    ]
    parts = [rst.title("The GPU workers API"), _INTRODUCTION.format(label=_LABEL)]
    by_tag = sorted(every, key=lambda each: each.tag)
    for tag, operations in groupby(by_tag, key=lambda each: each.tag):
        parts.append(rst.title(tag.capitalize(), "-"))
        parts += [_operation(each) for each in operations]
    parts.append(rst.title("Requests and answers", "-"))
    schemas = found["components"]["schemas"]
    parts += [_schema(name, schemas[name]) for name in sorted(schemas)]
    return "\n".join(parts)


def _operation(operation: _Operation) -> str:
    details = operation.details
    parts = [
        rst.title(f"{operation.method} {operation.path}", "~"),
        f"{rst.text(details['description'])}\n",
        rst.definition("Operation", rst.literal(details["operationId"])),
        rst.definition("Who may", _who(details)),
    ]
    for each in details.get("parameters", []):
        schema = each["schema"]
        notes = [each["in"], _type(schema), *(["required"] if each["required"] else [])]
        notes += bounds(_present(schema))
        about = rst.text(each.get("description", ""))
        parts.append(rst.definition(rst.literal(each["name"]), f"{', '.join(notes)}.", about))
    if asked := details.get("requestBody"):
        optional = "" if asked.get("required") else ", optional"
        parts.append(rst.definition("Body", f"{_contents(asked['content'])}{optional}."))
    for status, answer in details["responses"].items():
        if not status.endswith("XX"):
            said = f"{status}: {_contents(answer.get('content', {})) or 'nothing'}."
            parts.append(rst.definition("Answer", said))
    return "\n".join(parts)


def _who(details: dict[str, Any]) -> str:
    """Who may use an operation: OpenAPI has roles beside the scheme."""
    if "security" not in details:
        return "everybody."
    roles = [role for each in details["security"] for names in each.values() for role in names]
    named = " or ".join(rst.literal(role) for role in roles)
    return f"the role {named}." if roles else "everybody known."


def _contents(content: dict[str, Any]) -> str:
    return ", or ".join(
        f"{_type(each['schema'])} as {rst.literal(media)}" for media, each in content.items()
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    parts = [f".. _{_LABEL}{name}:\n", rst.title(_shown(name), "~")]
    if "enum" in schema:
        values = ", ".join(bounds(schema))
        return "\n".join([*parts, f"{_type(schema)}, {values}.\n"])
    parts.append(f"{rst.text(schema.get('description', 'A part of a list.'))}\n")
    required = schema.get("required", [])
    for key, field in schema["properties"].items():
        notes = [_type(field), *(["required"] if key in required else [])]
        notes += bounds({**_present(field), **field})
        about = rst.text(field.get("description", ""))
        parts.append(rst.definition(rst.literal(key), f"{', '.join(notes)}.", about))
    return "\n".join(parts)


def _shown(name: str) -> str:
    """The name of a schema, as people read it.

    >>> _shown("PageOf_Job_"), _shown("Job")
    ('Page of Job', 'Job')
    """
    return f"Page of {name[7:-1]}" if name.startswith("PageOf_") else name


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f":ref:`{_shown(name)} <{_LABEL}{name}>`"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    kind = schema["type"]
    if kind == "array":
        return f"list of {_type(schema['items'])}"
    values = schema.get("additionalProperties")
    if kind == "object":
        return f"map of {_type(values)}" if isinstance(values, dict) else "object"
    return f"{kind} (date-time)" if schema.get("format") == "date-time" else str(kind)


def _present(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of what is not null."""
    found: Iterator[dict[str, Any]] = (
        each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"
    )
    return next(found)
