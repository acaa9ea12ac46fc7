"""What is read out of pytest's results, and printed at the end of a run."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from typing import TYPE_CHECKING

import pytest
from support.tiers.budget import Used
from support.tiers.choose import Choice
from support.tiers.closing import closing
from support.tiers.deep import Deep
from support.tiers.results import Case, failures, outcomes, read, slowest

if TYPE_CHECKING:
    from pathlib import Path

MODULE = Deep("tests/plane/test_a.py", "x", 1.0, ())
SINGLE = Deep("tests/plane/test_b.py::test_c", "x", 1.0, ())


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    """Those of a module of which one test fails, by pytest itself."""
    folder = tmp_path / "tests" / "plane"
    folder.mkdir(parents=True)
    lines = ["def test_a(): pass", "def test_b():", "    assert 1 == 2, 'one\\ntwo'"]
    (folder / "test_it.py").write_text("\n".join(lines))
    (folder / "test_broken.py").write_text("import nothing_of_that_name")
    result = tmp_path / "result.xml"
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib")
    run = [sys.executable, "-m", "pytest", f"--junitxml={result}", "tests/plane"]
    run.append("--continue-on-collection-errors")
    assert subprocess.run(run, cwd=tmp_path, check=False, capture_output=True).returncode
    return read([result])


def test_a_failure_is_listed_with_its_place_and_its_first_line(cases: list[Case]) -> None:
    (broken, failed) = failures(cases)
    assert failed == "tests/plane/test_it.py:3 in test_b: AssertionError: one"
    assert "test_broken" in broken


def test_a_test_is_known_by_its_file_and_name(cases: list[Case]) -> None:
    assert {"tests/plane/test_it.py::test_a", "tests/plane/test_it.py::test_b"} <= {
        case.id for case in cases
    }
    found = outcomes(cases, [Deep("tests/plane/test_it.py", "x", 1, ())])
    assert found == {"tests/plane/test_it.py": False}
    broken = Deep("tests/plane/test_broken.py", "x", 1, ())
    assert outcomes(cases, [broken]) == {broken.id: False}


def test_a_module_is_green_if_all_of_its_tests_are() -> None:
    good, bad = Case(MODULE.file, "test_x", 1), Case(MODULE.file, "test_y", 1, "why")
    single = Case(SINGLE.file, "test_c[1]", 1)
    other = Case(SINGLE.file, "test_other", 1, "why")
    assert outcomes([good, single, other], [MODULE, SINGLE]) == {MODULE.id: True, SINGLE.id: True}
    assert outcomes([bad, good], [MODULE, SINGLE]) == {MODULE.id: False}


def test_the_slowest_tests_are_listed_with_their_share() -> None:
    cases = [
        Case("tests/plane/test_a.py", "test_x", 30),
        Case("tests/plane/test_a.py", "test_y", 10),
    ]
    assert [line.split() for line in slowest(cases)] == [
        ["30.0", "s", "75.0%", "tests/plane/test_a.py::test_x"],
        ["10.0", "s", "25.0%", "tests/plane/test_a.py::test_y"],
    ]
    assert len(slowest([Case("f", "t", 2)] * 100)) == 25
    assert slowest([Case("f", "t", 0.1)]) == []


def test_the_end_shows_what_ran_and_why_and_what_did_not_and_since_when() -> None:
    ran = Choice(MODULE, "touched: roles/gpu", date(2026, 11, 1))
    left = Choice(SINGLE, "", date(2026, 11, 27))
    text = closing([Used("plane", 1.0)], [ran, left], {MODULE.id: True}, [], ["a note"])
    assert f"{MODULE.id}: passed; touched: roles/gpu" in text
    assert f"{SINGLE.id}: left out; green on 2026-11-27" in text
    assert "1 ran, 1 were left out" in text
    assert text.endswith("a note")
    assert f"{MODULE.id}: FAILED" in closing([], [ran], {MODULE.id: False}, [], [])
    assert f"{MODULE.id}: did not run" in closing([], [ran], {}, [], [])
