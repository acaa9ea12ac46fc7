"""The tiers of the tests: what they may take, and when one may be left out."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.tiers.budget import Used, is_good, table
from support.tiers.failures import failures
from support.tiers.stamps import Stamps, digest
from support.tiers.tier import load, tier_of

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TIERS = load()


@pytest.mark.parametrize(
    ("row", "good"),
    [
        (Used("unit", 1.0, 2.0), True),
        (Used("unit", 2.9, 2.0), True),
        (Used("unit", 3.1, 2.0), False),
        (Used("unit", 1.0, 2.0, passed=False), False),
        (Used("unit", 0.0, 2.0, passed=None, note="unchanged"), True),
        (Used("reset", 9.0), True),
    ],
)
def test_a_run_fails_with_a_tier_that_is_red_or_takes_half_as_much_again(
    row: Used, *, good: bool
) -> None:
    assert is_good([row]) is good


def test_the_table_says_what_was_used_and_what_was_left_out() -> None:
    rows = [Used("unit", 3.1, 2.0), Used("pods", 0, 9.0, passed=None, note="nothing has changed")]
    lines = table(rows).splitlines()
    assert lines[1].split()[:4] == ["unit", "3.1", "2.0", "passed;"]
    assert "OVER ITS BUDGET" in lines[1]
    assert lines[2].endswith("left out: nothing has changed")
    assert lines[3].split() == ["all", "3.1"]


def test_what_ran_beside_another_tier_took_no_time_of_its_own() -> None:
    lines = table([Used("faults", 5.0), Used("molecule", 4.0, beside="faults")]).splitlines()
    assert lines[2].endswith("passed; beside faults")
    assert lines[3].split() == ["all", "5.0"]


def test_what_failed_is_listed_with_its_place_and_its_first_line(tmp_path: Path) -> None:
    lines = ["def test_a(): pass", "def test_b():", "    assert 1 == 2, 'one\\ntwo'"]
    (tmp_path / "test_it.py").write_text("\n".join(lines))
    result = tmp_path / "result.xml"
    pytest_there = [sys.executable, "-m", "pytest", f"--junitxml={result}", "test_it.py"]
    assert subprocess.run(pytest_there, cwd=tmp_path, check=False, capture_output=True).returncode
    assert failures([result]) == ["test_it.py:3 in test_b: AssertionError: one"]


def test_a_tier_beside_another_needs_no_cluster_and_the_other_one_does() -> None:
    for tier in TIERS.values():
        if tier.beside:
            assert not tier.cluster
            assert TIERS[tier.beside].cluster


def test_a_tiers_inputs_exist() -> None:
    for tier in TIERS.values():
        for path in tier.inputs:
            assert path == "*" or (REPOSITORY / path).exists(), (tier.name, path)


def test_a_test_belongs_to_the_tier_of_its_folder() -> None:
    assert tier_of("tests/plane/test_kinds.py::test_a", TIERS) is TIERS["plane"]
    assert tier_of("tests/support/servers.py", TIERS) is None
    assert tier_of("devctl", TIERS) is None


def test_the_readme_shows_the_tiers_as_they_are() -> None:
    text = (REPOSITORY / "tests/README.md").read_text()
    rows = re.findall(r"^\| `(?:tests/)?(\w+)` \|(.*)\|$", text, re.MULTILINE)
    shown = {row[0]: row for row in rows}
    for tier in TIERS.values():
        assert tier.name in shown, tier.name
        cells = [cell.strip() for cell in shown[tier.name][1].split("|")]
        assert cells[:3] == [tier.proves, tier.needs, f"{tier.minutes:g}"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    for name in ("roles/main.yml", "docs/page.md", "Makefile"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("one\n")
    return folder


def test_only_a_change_of_an_input_makes_a_stamp_stale(checkout: Path, tmp_path: Path) -> None:
    tier = replace(TIERS["plane"], inputs=("roles",))
    before = digest(tier, checkout)
    Stamps(tmp_path / "stamps").passed(tier, before)

    def is_fresh() -> bool:
        return Stamps(tmp_path / "stamps").is_fresh(tier, digest(tier, checkout))

    assert is_fresh()
    (checkout / "docs/page.md").write_text("two\n")
    assert is_fresh()
    for name in ("roles/main.yml", "roles/new.yml", "Makefile"):
        file = checkout / name
        text = file.read_text() if file.exists() else None
        file.write_text("two\n")
        assert not is_fresh(), name
        file.unlink()
        if text is not None:
            assert not is_fresh(), name
            file.write_text(text)
        assert is_fresh()
