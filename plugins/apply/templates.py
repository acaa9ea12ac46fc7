"""Templates to text.

Every value is written as JSON, by no doing of the template's: none can be anything but a value,
whatever it holds. A template therefore has no filter to forget, and joins no text to a value.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2

from apply.errors import ApplyError
from devctl.api.applied import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def render(path: Path, names: Mapping[str, Any]) -> str:
    """What a template prints.

    Raises:
        ApplyError: It is no template, or asks for a name that is not there.
    """
    try:
        return _compiled(path.read_text(encoding="utf-8")).render(names)
    except (jinja2.TemplateError, OSError, TypeError, ValueError) as error:
        line = f" in line {error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{path.name}: {error}{line}") from error


def prepare(role: Path) -> None:
    """Compile a role's templates, for this process and those forked from it."""
    for path in sorted(role.glob("templates/**/*.j2")):
        _compiled(path.read_text(encoding="utf-8"))


@cache
def _compiled(text: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(text)


def _json(value: Any) -> str:
    return json.dumps(value, default=_refuse, allow_nan=False)


def _refuse(value: Any) -> None:
    str(value)  # a name that is not there says which one it is when it is to be text
    raise TypeError(f"a template cannot print a {type(value).__name__}")


_ENVIRONMENT = jinja2.Environment(  # noqa: S701 - it writes YAML, of which JSON is the escaping
    finalize=_json, trim_blocks=True, undefined=jinja2.StrictUndefined
)
