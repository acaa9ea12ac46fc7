"""Changes of this repository's history run the deep modules that depend on them, and no others."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.tiers.choose import Known, choose
from unit.support.tiers.test_deep import PLAN, reach

READ = tomllib.loads(Path(__file__).with_name("real_changes.toml").read_text())
TODAY = date(2026, 11, 28)
GREEN = {module.id: TODAY for module in PLAN.modules}


def names(runs: list[str]) -> set[str]:
    """The modules of a change, with those of groups."""
    groups = READ["groups"] | {"everything": [short(module.file) for module in PLAN.modules]}
    return {module for name in runs for module in groups.get(name, [name])}


def short(file: str) -> str:
    return file.removeprefix("tests/").replace("/test_", "/").removesuffix(".py")


@pytest.mark.parametrize("change", READ["changes"], ids=lambda change: str(change["commit"]))
def test_a_change_runs_what_depends_on_it(change: dict[str, Any]) -> None:
    known = Known(TODAY, set(change["files"]), reach(), GREEN)
    found = [choice for choice in choose(PLAN, known) if choice.why not in {"", "its turn today"}]
    assert {short(choice.module.file) for choice in found} == names(change["runs"])


def test_every_kind_of_file_has_a_change() -> None:
    files = [file for change in READ["changes"] for file in change["files"]]
    tests = ("tests/support/", "tests/support/tiers/")
    kinds = ("config/crd/", "/templates/", "config/admission/", "requirements.txt", "images/")
    for kind in (*tests, *kinds, "devctl/api/", "playbooks/", "docs/"):
        assert any(kind in file for file in files), kind
    assert len(READ["changes"]) >= 30
