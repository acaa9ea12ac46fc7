"""Everything that a template renders remains a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from apply.errors import ApplyError
from apply.templates import parse, prepare, render
from hypothesis import given
from hypothesis import strategies as st
from jinja2.environment import Environment
from unit.plugins.templates import HOSTILE, TEXT

from devctl.api.applied import Reason
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

ROLES = sorted(path.parent.parent.name for path in REPOSITORY.glob("roles/*/tasks/main.yml"))
ONE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ name }}}
data:
  {{ key }}: {{ value }}
{% for one in several %}
  {{ one }}: {{ one ~ '-more' }}
{% endfor %}
"""
# Neither libyaml nor Kubernetes accepts a key of more than a thousand characters.
KEYS = TEXT.filter(lambda text: len(text) < 64)
# No fractions: Kubernetes' own objects have none, and to YAML 1.1, `1e-05` is a string.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t") / "t.yaml.j2"
    path.write_text(ONE)
    return path


def data(path: Path, **names: Any) -> Any:
    (manifest,) = parse("t", render(path, {"name": "a", "key": "k", "several": []} | names))
    return manifest["data"]


@given(value=JSON)
def test_any_value_is_that_value(template: Path, value: Any) -> None:
    assert data(template, value=value) == {"k": value}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_a_text_wherever_it_stands(template: Path, text: str) -> None:
    found = data(template, key=text, value=text, several=[f"1{text}", f"2{text}"])
    more = {f"{number}{text}": f"{number}{text}-more" for number in (1, 2)}
    assert found == {text: text} | more


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {{ missing }}", "t.yaml.j2: 'missing' is undefined"),
        ("a: {{ known.missing }}", "t.yaml.j2: 'dict object' has no attribute 'missing'"),
        ("a: {{ [missing] }}", "t.yaml.j2: 'missing' is undefined"),
        ("a: b\n{% if %}", r"t.yaml.j2: .* on line 2"),
        ("a: {{ known.keys }}", "t.yaml.j2: a template cannot render a builtin"),
        ("a: {{ known['nan'] }}", "t.yaml.j2: Out of range float values"),
        ("a: {{ 1 + 'a' }}", "t.yaml.j2: unsupported operand"),
    ],
)
def test_a_bad_template_is_a_template_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.yaml.j2").write_text(text)
    with pytest.raises(ApplyError, match=message) as refused:
        render(tmp_path / "t.yaml.j2", {"known": {"nan": float("nan")}})
    assert refused.value.reason is Reason.TEMPLATE_ERROR


def test_a_text_joined_to_a_value_is_no_yaml(tmp_path: Path) -> None:
    """That would be the only way for a value to become markup."""
    (tmp_path / "t.yaml.j2").write_text("a: x-{{ name }}: 1")
    with pytest.raises(ApplyError, match="mapping values are not allowed"):
        parse("t", render(tmp_path / "t.yaml.j2", {"name": "b"}))


def test_a_hole_in_a_quoted_text_is_found() -> None:
    """In `"{{ name }}"`, a value would close the quotes: no template has this."""
    for path in REPOSITORY.glob("roles/*/templates/*.j2"):
        assert not re.search(r"[\"'\w-]\{\{|\}\}[\"'\w-]", path.read_text()), path


@pytest.mark.parametrize("role", ROLES)
def test_no_template_of_ours_is_compiled_in_a_run(
    role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(REPOSITORY / "roles" / role)

    def refuse(*_: object) -> None:
        raise AssertionError("compiled anew")

    monkeypatch.setattr(Environment, "parse", refuse)
    for path in (REPOSITORY / "roles" / role / "templates").iterdir():
        with pytest.raises(ApplyError, match="undefined"):
            render(path, {})
