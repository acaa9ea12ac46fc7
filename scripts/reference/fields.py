"""Pages on kinds, made from their CustomResourceDefinitions: fields, bounds and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from reference import rst
from reference.bounds import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def kinds(folder: Path) -> dict[str, str]:
    """The page of each kind that a folder of definitions has, by the kind's name.

    Args:
        folder: `config/crd`.
    """
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        if definition["kind"] == "CustomResourceDefinition":
            found[definition["spec"]["names"]["kind"]] = page(definition)
    return found


def page(definition: dict[str, Any]) -> str:
    """The page of one kind.

    Args:
        definition: Its CustomResourceDefinition.
    """
    spec = definition["spec"]
    names = spec["names"]
    (version,) = [one for one in spec["versions"] if one["storage"]]
    schema = version["schema"]["openAPIV3Schema"]
    short = ", ".join(rst.literal(name) for name in [names["plural"], *names.get("shortNames", [])])
    where = "namespaced" if spec["scope"] == "Namespaced" else "cluster-wide"
    parts = [
        rst.title(names["kind"]),
        rst.text(schema.get("description", "")) + "\n",
        f"{rst.literal(spec['group'] + '/' + version['name'])}, {where}; for kubectl {short}.\n",
        _rules(schema),
    ]
    for section in ("spec", "status"):
        part = schema["properties"].get(section)
        if part:
            parts += [rst.title(section, "-"), _rules(part), *_fields(section, part)]
    return "\n".join(parts)


def _fields(path: str, schema: dict[str, Any]) -> Iterator[str]:
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        notes = [_type(field), *(["required"] if name in required else []), *bounds(field)]
        description = rst.text(field.get("description", ""))
        yield rst.definition(rst.literal(here), ", ".join(notes) + ".", description, _rules(field))
        yield from _below(here, field)


def _below(path: str, field: dict[str, Any]) -> Iterator[str]:
    yield from _fields(path, field)
    items = field.get("items")
    if items:
        yield from _below(f"{path}[]", items)
    values = field.get("additionalProperties")
    if isinstance(values, dict):
        yield from _below(f"{path}.KEY", values)


def _type(field: dict[str, Any]) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind = str(field.get("type", "any"))
    if kind == "array":
        return f"list of {_type(field['items'])}"
    values = field.get("additionalProperties")
    if kind == "object" and isinstance(values, dict):
        return f"map of {_type(values)}"
    form = field.get("format")
    return f"{kind} ({form})" if form in {"date-time", "duration"} else kind


def _rules(schema: dict[str, Any]) -> str:
    """What the API server refuses, a line for each rule."""
    rules = schema.get("x-kubernetes-validations", [])
    return "".join(f"- {rst.text(rule['message'])}\n" for rule in rules if "message" in rule)
