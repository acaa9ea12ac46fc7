"""What a call is given and what it says of that, from an operation of the document."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from workers_client.document import JSON, Operation, Schema, model_of
from workers_client.names import class_name, is_page

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = "idempotency-key"
_BY_PAGES = frozenset({"limit", "cursor"})
"""Parameters of lists, which are read page by page."""
_WHOLE = frozenset({"path"})
"""Parameters of a path that have several parts, which the document cannot say."""
_FORMAT = "format"
"""A parameter that the header Accept stands for."""
_TYPES = {"string": "str", "integer": "int", "boolean": "bool"}
_WIDTH = 92
"""Of a line of a docstring, without its indentation."""


class Argument(NamedTuple):
    """A parameter of a call.

    Attributes:
        name: Its name.
        kind: Its type.
        meaning: One line.
        default: Its default's source; empty if it is required.
        named: Whether it is given by name.
    """

    name: str
    kind: str
    meaning: str
    default: str = ""
    named: bool = False

    @property
    def source(self) -> str:
        """As the signature has it."""
        return f"{self.name}: {self.kind}" + (f" = {self.default}" if self.default else "")


def arguments(operation: Operation) -> Iterator[Argument]:
    """All of a call, in order."""
    for each in operation.parameters("path"):
        yield Argument(each["name"], "str", each["description"])
    if body := operation.body:
        kind = class_name(model_of(body))
        if {"type": "null"} in body.get("anyOf", []):
            yield Argument("body", f"{kind} | None", "What is asked; nothing by default.", "None")
        else:
            yield Argument("body", kind, "What is asked.")
    for each in asked(operation):
        about = each["description"] + _words(each["schema"])
        meaning = documented(about, each["schema"])
        yield Argument(each["name"], _type(each["schema"]), meaning, "None", named=True)
    if has_key(operation):
        meaning = "Names the request: its repetition does nothing again. Empty for none."
        yield Argument("key", "str", meaning, '""', named=True)


def asked(operation: Operation) -> list[Schema]:
    """The parameters of the query that a call has."""
    paged = is_page(model_of(operation.answers.get(JSON, {})))
    formats = len(operation.answers) > 1
    left_out = (_BY_PAGES if paged else frozenset()) | ({_FORMAT} if formats else frozenset())
    return [each for each in operation.parameters("query") if each["name"] not in left_out]


def has_key(operation: Operation) -> bool:
    """Whether a request can be named, so that its repetition does nothing again."""
    return any(each["name"] == _KEY for each in operation.parameters("header"))


def signature(given: list[Argument]) -> str:
    """What is between the brackets."""
    named = [each.source for each in given if each.named]
    first = [each.source for each in given if not each.named]
    return ", ".join(["self", *first, *(["*", *named] if named else [])])


def docstring(text: str, given: list[Argument]) -> str:
    """The docstring of a call.

    Args:
        text: What the operation does; its first sentence is the first line.
        given: The call's parameters.
    """
    first, dot, rest = " ".join(text.split()).partition(". ")
    lines = [f"{first}." if dot else first]
    if rest:
        lines += ["", *textwrap.wrap(rest, _WIDTH)]
    if given:
        lines += ["", "Args:", *entries((each.name, each.meaning) for each in given)]
    return (
        f'"""{lines[0]}"""' if len(lines) == 1 else "\n".join([f'"""{lines[0]}', *lines[1:], '"""'])
    )


def entries(about: Iterator[tuple[str, str]]) -> list[str]:
    """The lines of a section of a docstring, from names and what they mean."""
    return [
        line
        for name, meaning in about
        for line in textwrap.wrap(
            f"{name}: {meaning}", _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8
        )
    ]


def documented(description: str, schema: Schema) -> str:
    """What something is, and what it is unless said.

    >>> documented("In megabytes.", {"default": 1024})
    'In megabytes. Unless said, `1024`.'
    """
    default = schema.get("default")
    unless = "" if default in (None, "") else f" Unless said, `{json.dumps(default)}`."
    return f"{description}{unless}".strip()


def place(operation: Operation) -> str:
    """The expression of its path."""
    path = re.sub(r"\{(\w+)\}", _written, operation.path)
    return f'f"{path}"' if "{" in path else f'"{path}"'


def _written(name: re.Match[str]) -> str:
    return f"{{{'whole' if name[1] in _WHOLE else 'part'}({name[1]})}}"


def _type(schema: Schema) -> str:
    """The type of a parameter that may be left out. One of some words is any text: see `_words`.

    >>> _type({"anyOf": [{"format": "date-time", "type": "string"}, {"type": "null"}]})
    'datetime | None'
    """
    found = _present(schema)
    kind = "datetime" if found.get("format") == "date-time" else _TYPES[found["type"]]
    return f"{kind} | None"


def _words(schema: Schema) -> str:
    """What a parameter may be.

    >>> _words({"anyOf": [{"enum": ["low", "high"], "type": "string"}, {"type": "null"}]})
    ' It is low or high.'
    """
    *first, last = _present(schema).get("enum") or [""]
    return f" It is {', '.join(first)} or {last}." if last else ""


def _present(schema: Schema) -> Schema:
    """The schema of what is not null."""
    (found,) = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return dict(found)
