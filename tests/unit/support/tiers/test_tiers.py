"""The tiers of the tests: their command lines, and the table of what they took."""

from __future__ import annotations

import re

import pytest
from support.tiers.budget import Used, is_good, table
from support.tiers.tier import load, tier_of

from devctl.local.paths import REPOSITORY

TIERS = load()


@pytest.mark.parametrize(
    ("row", "good"),
    [
        (Used("unit", 1.0, 2.0), True),
        # Machines differ by a factor of three, and days: a landing does not fail on minutes.
        (Used("unit", 9.0, 2.0), True),
        (Used("unit", 1.0, 2.0, passed=False), False),
        (Used("reset", 9.0), True),
    ],
)
def test_a_run_fails_with_a_tier_that_is_red(row: Used, *, good: bool) -> None:
    assert is_good([row]) is good


def test_the_table_shows_minutes_beside_the_budget_and_cpu_seconds() -> None:
    lines = table([Used("unit", 3.1, 2.0, cpu=200.4), Used("reset", 0.5, cpu=1)]).splitlines()
    assert lines[1].split()[:5] == ["unit", "3.1", "2.0", "200", "passed;"]
    assert "OVER ITS BUDGET" in lines[1]
    assert lines[2].split() == ["reset", "0.5", "1", "passed"]
    assert lines[3].split() == ["all", "3.6", "201"]


def test_a_tier_beside_another_takes_no_time_of_its_own() -> None:
    rows = [Used("faults", 5.0, cpu=9), Used("molecule", 4.0, beside="faults", cpu=8)]
    lines = table(rows).splitlines()
    assert lines[2].endswith("passed; beside faults")
    assert lines[3].split() == ["all", "5.0", "9"]


def test_a_tier_beside_another_needs_no_cluster_and_the_other_one_does() -> None:
    for tier in TIERS.values():
        if tier.beside:
            assert not tier.cluster
            assert TIERS[tier.beside].cluster


def test_modules_are_left_out_by_file_and_tests_by_id() -> None:
    left_out = ["tests/plane/test_a.py", "tests/plane/test_b.py::test_c"]
    (line,) = TIERS["plane"].commands(without=left_out)
    assert "--ignore=tests/plane/test_a.py" in line
    assert "--deselect=tests/plane/test_b.py::test_c" in line


def test_everything_runs_with_coverage() -> None:
    (landing,), (deep,) = TIERS["unit"].commands(), TIERS["unit"].commands(deep=True)
    assert deep == [*landing, "--coverage"]


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
