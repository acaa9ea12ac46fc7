"""Templates to manifests.

Every value is rendered as JSON automatically, so whatever it contains remains a value. Templates
therefore need no filter that could be forgotten, and cannot concatenate text and values.
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

# libyaml's parser is ten times faster, but missing in some builds of PyYAML.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OURS = ("ownerReferences", "uid", "resourceVersion", "managedFields")


def render(path: Path, names: Mapping[str, Any]) -> str:
    """Render a template.

    Raises:
        ApplyError: It is not a valid template, or uses an undefined name.
    """
    try:
        return _compiled(path.read_text(encoding="utf-8")).render(names)
    except (jinja2.TemplateError, OSError, TypeError, ValueError) as error:
        line = f" on line {error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{path.name}: {error}{line}") from error


def prepare(role: Path) -> None:
    """Compile a role's templates for this process and its forks."""
    for path in sorted(role.glob("templates/**/*.j2")):
        _compiled(path.read_text(encoding="utf-8"))


@cache
def _compiled(text: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(text)


def _print(value: Any) -> str:
    return to_yaml(value, default=_refuse, allow_nan=False)


def _refuse(value: Any) -> None:
    str(value)  # an undefined name raises an error here that names it
    raise TypeError(f"a template cannot render a {type(value).__name__}")


_ENVIRONMENT = jinja2.Environment(  # noqa: S701 - the output is YAML, which JSON escapes
    finalize=_print, trim_blocks=True, undefined=jinja2.StrictUndefined
)


def parse(template: str, text: str) -> list[Manifest]:
    """The manifests in a rendered template, without empty documents.

    Raises:
        ApplyError: It is not YAML, or a document is not an object's manifest.
    """
    try:
        documents = list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "invalid YAML"
        mark = getattr(error, "problem_mark", None)
        line = f" on line {mark.line + 1}" if mark else ""
        # The text of the error quotes the line, which may contain a secret.
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{template}: {problem}{line}") from error
    manifests = [document for document in documents if document is not None]
    for manifest in manifests:
        _check(template, manifest)
    return manifests


def _check(template: str, manifest: object) -> None:
    """Raises ApplyError unless it names an object and sets none of our fields."""
    match manifest:
        case {"apiVersion": str(), "kind": str(), "metadata": {"name": str(), **metadata}}:
            problems = [f"a template must not set metadata.{f}" for f in _OURS if f in metadata]
        case _:
            problems = ["a document lacks apiVersion, kind or metadata.name"]
    if problems:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{template}: {problems[0]}")
