"""Every value in every role's template is written by `to_json`, or it could change the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jinja2 import Environment, nodes

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATES = sorted(REPOSITORY.glob("roles/*/templates/**/*.j2"))


def unsafe(text: str) -> list[int]:
    """The lines of expressions whose value would be written as it is."""
    # `{% break %}` and `{% do %}` are Ansible's defaults.
    environment = Environment(  # noqa: S701 - nothing is rendered
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"]
    )
    outputs = environment.parse(text).find_all(nodes.Output)
    return [node.lineno for output in outputs for node in output.nodes if not _is_safe(node)]


def _is_safe(node: nodes.Node | None) -> bool:
    if isinstance(node, nodes.CondExpr):
        return _is_safe(node.expr1) and _is_safe(node.expr2)
    return isinstance(node, nodes.TemplateData) or (
        isinstance(node, nodes.Filter) and node.name in {"to_json", "ansible.builtin.to_json"}
    )


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_value_is_written_as_json(path: Path) -> None:
    assert unsafe(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: {{ b | to_json }}\nc: {{ d | default(1) | to_json }}", []),
        ("{% for a in b %}\n- {{ a['x'] | ansible.builtin.to_json }}\n{% endfor %}", []),
        ("a: {{ b }}", [1]),
        ("a: 1\nb: {{ c | to_json | upper }}", [2]),
        ('a: {{ "x" ~ (b | to_json) }}', [1]),
        ("a: {{ b | to_json if c else d }}", [1]),
        ("a: {{ b | to_json if c }}", [1]),
    ],
)
def test_the_check_finds_values_written_as_they_are(text: str, lines: list[int]) -> None:
    assert unsafe(text) == lines
