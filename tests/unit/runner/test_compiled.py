"""Templates compiled before the fork give what they gave, and are compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ansible._internal._templating import _jinja_bits as bits
from ansible.parsing.dataloader import DataLoader
from ansible.plugins import loader
from ansible.template import Templar, trust_as_template
from devctl_runner.compiled import compile_role, remember_compiled, texts

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that Jinja compiles from now on."""
    original = bits.AnsibleEnvironment.compile
    seen: list[str] = []

    def compile_and_note(self: object, source: str, *args: object, **kwargs: object) -> object:
        seen.append(str(source))
        return original(self, source, *args, **kwargs)

    monkeypatch.setattr(bits.AnsibleEnvironment, "compile", compile_and_note)
    remember_compiled()
    return seen


@pytest.fixture(scope="module", autouse=True)
def _plugins() -> None:
    """Jinja wants to know a filter when it compiles its use."""
    if not loader.AnsibleCollectionConfig.collection_finder:
        loader.init_plugin_loader()
    loader.filter_loader.add_directory(str(REPOSITORY / "plugins/filter"))
    loader.lookup_loader.add_directory(str(REPOSITORY / "plugins/lookup"))


def render(text: str, **variables: object) -> object:
    templar = Templar(loader=DataLoader(), variables=variables)
    return templar.template(trust_as_template(text))


def test_a_text_is_compiled_once_and_keeps_its_meaning(compiled: list[str]) -> None:
    rendered = [render("{{ a }}-b", a=a) for a in ("1", "{{ 2 }}")]

    assert rendered == ["1-b", "{{ 2 }}-b"]
    assert compiled.count("{{ a }}-b") == 1


def test_other_rules_of_cutting_are_another_template(compiled: list[str]) -> None:
    text = "  {% if true %}a{% endif %}\n"
    templar = Templar(loader=DataLoader(), variables={})

    plain = templar.template(trust_as_template(text))
    trimmed = templar.template(trust_as_template(text), overrides={"lstrip_blocks": True})
    again = templar.template(trust_as_template(text), overrides={"lstrip_blocks": True})

    assert plain == "  a\n"
    assert trimmed == again == "a\n"
    assert compiled.count(text) == 2


@pytest.mark.parametrize("role", sorted(p.name for p in (REPOSITORY / "roles").iterdir()))
def test_what_a_role_renders_was_compiled_before(compiled: list[str], role: str) -> None:
    compile_role(REPOSITORY / "roles" / role, DataLoader())

    before = len(compiled)
    for path in sorted((REPOSITORY / "roles" / role / "templates").iterdir()):
        templar = Templar(loader=DataLoader(), variables={})
        with pytest.raises(Exception, match="undefined"):
            templar.template(
                trust_as_template(path.read_text()),
                escape_backslashes=False,
                overrides={"trim_blocks": True, "lstrip_blocks": False},
            )
    assert compiled[before:] == []


def test_a_role_that_cannot_be_compiled_says_why(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/main.yml").write_text("{")

    with pytest.raises(Exception, match="YAML"):
        compile_role(tmp_path, DataLoader())


def test_texts_are_found_wherever_they_stand() -> None:
    assert list(texts({"a": ["b", {"c": "d"}], "e": 1, "f": None})) == ["b", "d"]
