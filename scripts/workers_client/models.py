"""The types of requests and answers, made by datamodel-code-generator.

It gets the components of the document as a client is to see them. What is answered may be a newer
release's: its enumerations are any text, and what can be null may be missing. What is asked leaves
out what it does not say, so that the API's own defaults hold.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from typing import Any

from datamodel_code_generator import InputFileType, generate
from datamodel_code_generator.enums import DataModelType
from datamodel_code_generator.format import DatetimeClassType, Formatter, PythonVersion
from datamodel_code_generator.parser import LiteralType

from workers_client.document import Schema, model_of, operations, reachable
from workers_client.names import class_name, is_page
from workers_client.signatures import documented, entries

_RECORDS = "devctl.client.workers.records"
_BASES = {"AvailableNode": "NodeRecord", "Node": "NodeRecord", "WorkerJob": "JobRecord"}
"""Classes with more than fields, by the class that they are the base of."""
_KEPT = {"type", "format", "anyOf", "items", "additionalProperties", "enum"}
"""What a field is made of. Bounds are left out: the API checks them, and says what is wrong."""
_FROZEN = defaultdict(dict, {"#all#": {"base_class_kwargs": {"frozen": True}}})
"""To mypy, a class is frozen only if it says so itself."""
_NULL = {"type": "null"}


def models(document: Schema) -> str:
    """The module that has a class for each component that is asked or answered.

    Args:
        document: The API's.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its defaults will change
        made = generate(
            json.dumps(narrowed(document)),
            input_file_type=InputFileType.OpenAPI,
            output_model_type=DataModelType.MsgspecStruct,
            target_python_version=PythonVersion.PY_311,
            output_datetime_class=DatetimeClassType.Datetime,
            enum_field_as_literal=LiteralType.All,
            base_class=f"{_RECORDS}.Record",
            base_class_map={name: f"{_RECORDS}.{base}" for name, base in _BASES.items()},
            extra_template_data=_FROZEN,
            keyword_only=True,
            keep_model_order=True,
            apply_default_values_for_required_fields=True,
            use_schema_description=True,
            use_single_line_docstring=True,
            formatters=[Formatter.BUILTIN],
            disable_timestamp=True,
        )
    if not isinstance(made, str):
        raise TypeError("the generator made several modules, or none")
    return made


def narrowed(document: Schema) -> Schema:
    """A document that has the components alone, as a client is to see them."""
    every = list(operations(document))
    asked = reachable(document, [each.body for each in every if each.body])
    answered = reachable(document, [s for each in every for s in each.answers.values()])
    if both := {name for name in asked & answered if not _same(document, name)}:
        raise ValueError(f"asked and answered, which have different rules: {sorted(both)}")
    components = document["components"]["schemas"]
    schemas = {
        class_name(name): _model(document, name, components[name], answered=name in answered)
        for name in sorted(asked | answered)
        if "properties" in components[name]
    }
    return {"openapi": "3.1.0", "info": {}, "paths": {}, "components": {"schemas": schemas}}


def _same(document: Schema, name: str) -> bool:
    """Whether a component is the same to who asks and who is answered."""
    return _model(document, name, document["components"]["schemas"][name], answered=True) == (
        _model(document, name, document["components"]["schemas"][name], answered=False)
    )


def _model(document: Schema, name: str, schema: Schema, *, answered: bool) -> Schema:
    fields = schema["properties"]
    made = {key: _field(document, field, answered=answered) for key, field in fields.items()}
    required = schema.get("required", [])
    if answered:
        for key, field in fields.items():
            if _NULL in field.get("anyOf", []):
                made[key]["default"] = None
    about = "A page of a list." if is_page(name) else schema["description"]
    return {
        "type": "object",
        "description": _documented(about, fields),
        "properties": made,
        "required": [*made] if answered else required,
    }


def _field(document: Schema, part: Any, *, answered: bool) -> Any:
    if isinstance(part, list):
        return [_field(document, each, answered=answered) for each in part]
    if not isinstance(part, dict):
        return part
    if name := part.get("$ref") and model_of(part):
        found = document["components"]["schemas"][name]
        if "enum" in found:
            return _field(document, found, answered=answered)
        return {"$ref": f"#/components/schemas/{class_name(name)}"}
    kept = {key: part[key] for key in part.keys() & _KEPT}
    if answered:
        kept.pop("enum", None)
    return {key: _field(document, each, answered=answered) for key, each in sorted(kept.items())}


def _documented(about: str, fields: Schema) -> str:
    """The docstring of a class."""
    told = {name: documented(each.get("description", ""), each) for name, each in fields.items()}
    lines = entries((name, said) for name, said in told.items() if said)
    return "\n".join([about, "", "Attributes:", *lines, ""]) if lines else about
