"""Templates to manifests.

Every value is written as JSON, by no doing of the template's: none can be anything but a value,
whatever it holds. A template therefore has no filter to forget, and joins no text to a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import yaml

from apply.errors import ApplyError
from apply.manifests import Manifest, to_yaml
from devctl.api.applied import Reason

# libyaml's parser is ten times faster, but not in every build of PyYAML.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OURS = ("ownerReferences", "uid", "resourceVersion", "managedFields")


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


def _print(value: Any) -> str:
    return to_yaml(value, default=_refuse, allow_nan=False)


def _refuse(value: Any) -> None:
    str(value)  # a name that is not there says which one it is when it is to be text
    raise TypeError(f"a template cannot print a {type(value).__name__}")


_ENVIRONMENT = jinja2.Environment(  # noqa: S701 - it writes YAML, of which JSON is the escaping
    finalize=_print, trim_blocks=True, undefined=jinja2.StrictUndefined
)


def parse(template: str, text: str) -> list[Manifest]:
    """The manifests in a rendered template; empty documents are none.

    Raises:
        ApplyError: It is no YAML, or a document is no manifest of an object.
    """
    try:
        documents = list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "no YAML"
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        # The error's own text quotes the line, which may hold a secret.
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{template}: {problem}{line}") from error
    manifests = [document for document in documents if document is not None]
    for manifest in manifests:
        _check(template, manifest)
    return manifests


def _check(template: str, manifest: object) -> None:
    """Raises ApplyError unless it names an object and leaves to us what is ours to set."""
    match manifest:
        case {"apiVersion": str(), "kind": str(), "metadata": {"name": str(), **metadata}}:
            problems = [
                f"metadata.{f} is not for a template to set" for f in _OURS if f in metadata
            ]
        case _:
            problems = ["a document lacks apiVersion, kind or metadata.name"]
    if problems:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{template}: {problems[0]}")
