"""The bounds of a value, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference import rst

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
}


def bounds(field: dict[str, Any]) -> Iterator[str]:
    """What a schema says of a value beside its type.

    >>> list(bounds({"default": 1, "minimum": 1.0, "maximum": 1024.0}))
    ['default ``1``', 'at least 1', 'at most 1024']
    """
    if "enum" in field:
        yield "one of " + ", ".join(rst.literal(str(value)) for value in field["enum"])
    if "default" in field:
        yield f"default {rst.literal(_value(field['default']))}"
    for name, words in _WORDS.items():
        # At least one character or none is what `required` and the pattern say, too.
        if name in field and (name, field[name]) != ("minLength", 1):
            yield words.format(int(field[name]))
    if "pattern" in field:
        yield f"matches {rst.literal(_visible(field['pattern']))}"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def _visible(pattern: str) -> str:
    """A pattern whose control characters are written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in pattern)
