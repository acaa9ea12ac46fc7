"""What differs from the last landed commit, and what is repeated of it."""

from __future__ import annotations

import subprocess
from datetime import date
from typing import TYPE_CHECKING

import pytest
from support.tiers.changes import changed_files, changed_tests, differing_tests
from support.tiers.landed import Landed, begin, document, landed
from support.tiers.record import Record
from support.tiers.repeat import TIMES, Repeats, chosen_within, seconds_of
from support.tiers.results import Case

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TEST = "tests/unit/test_it.py"
TWO = "def test_a():\n    assert 1\n\n\ndef test_b():\n    assert 2\n"


class Clone:
    """A repository of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        line = ["git", *who, *words]
        done = subprocess.run(line, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, **files: str) -> str:
        self.write(**files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")
        return self.git("rev-parse", "HEAD")

    def write(self, **files: str) -> None:
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


def test_a_change_is_what_commits_and_the_work_tree_differ_in(clone: Clone) -> None:
    base = clone.commit(kept="1", edited="1", moved="1" * 100, gone="1")
    clone.git("mv", "moved", "new-name")
    clone.git("rm", "--quiet", "gone")
    clone.commit(edited="2")
    clone.write(kept="2", untracked="1")
    names = ("edited", "moved", "new-name", "gone", "kept", "untracked")
    assert changed_files(base, clone.folder) == frozenset(names)


def test_a_commit_that_is_no_ancestor_is_no_base(clone: Clone) -> None:
    base = clone.commit(one="1")
    clone.git("checkout", "--quiet", "--orphan", "other")
    clone.commit(one="2")
    assert changed_files(base, clone.folder) is None
    assert changed_files("0" * 40, clone.folder) is None


def test_settings_of_checkers_are_no_change_of_the_project(clone: Clone) -> None:
    before = '[project]\nname = "a"\n[tool.ruff]\nline-length = 90\n[tool.pytest]\ntimeout = 1\n'
    base = clone.commit(**{"pyproject.toml": before})
    clone.write(**{"pyproject.toml": before.replace("90", "100")})
    assert changed_files(base, clone.folder) == frozenset()
    for other in (before.replace('"a"', '"b"'), before.replace("timeout = 1", "timeout = 2")):
        clone.write(**{"pyproject.toml": other})
        assert changed_files(base, clone.folder) == frozenset({"pyproject.toml"})


def test_a_shallow_clone_does_not_know_its_base(clone: Clone, tmp_path: Path) -> None:
    base = clone.commit(one="1")
    clone.commit(one="2")
    address = f"file://{clone.folder}"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", address, tmp_path / "s"], check=True)
    assert changed_files(base, tmp_path / "s") is None


@pytest.mark.parametrize(
    ("after", "tests"),
    [
        (TWO, []),
        (TWO.replace("assert 2", "assert 3"), ["test_b"]),
        (TWO.replace("test_b", "test_c"), ["test_c"]),
        (f"@slow\n{TWO}", ["test_a"]),
        (f"LIMIT = 1\n{TWO}", ["test_a", "test_b"]),
        (f"def helper():\n    pass\n\n\n{TWO}", ["test_a", "test_b"]),
        (f'"""About it."""\nimport os\n# Why.\n{TWO}', []),
    ],
)
def test_a_test_counts_as_changed_with_all_that_its_module_gives_it(
    after: str, tests: list[str]
) -> None:
    assert differing_tests(TWO, after) == tests


def test_changed_tests_are_found_by_file(clone: Clone) -> None:
    base = clone.commit(**{TEST: TWO, "tests/support/it.py": "x = 1"})
    clone.write(
        **{TEST: TWO.replace("2", "3"), "tests/plane/test_new.py": TWO, "devctl/test_x.py": TWO}
    )
    files = changed_files(base, clone.folder)
    assert files is not None
    assert changed_tests(base, files, clone.folder) == {
        TEST: ["test_b"],
        "tests/plane/test_new.py": ["test_a", "test_b"],
    }


def test_what_fits_into_the_time_is_repeated_and_the_rest_is_named() -> None:
    cases = [Case(TEST, "test_a[1]", 0.5), Case(TEST, "test_a[2]", 0.5), Case(TEST, "test_b", 0.1)]
    took = seconds_of(cases, {TEST: ["test_a"]})
    assert took == {f"{TEST}::test_a": 1.0}
    assert chosen_within(took, TIMES * 1.0) == ([f"{TEST}::test_a"], [])
    assert chosen_within(took, TIMES * 0.9) == ([], [f"{TEST}::test_a"])


def test_what_is_too_long_to_be_repeated_is_named_and_does_not_fail() -> None:
    repeats = Repeats({TEST: ["test_a"]})
    assert repeats.of("unit", [Case(TEST, "test_a", 100)])
    (note,) = repeats.notes
    assert note.endswith(f"{TEST}::test_a takes 100 s")


def test_work_begins_with_head_and_the_later_days(clone: Clone, tmp_path: Path) -> None:
    head = clone.commit(one="1")
    file = tmp_path / "landed.toml"
    file.write_text(document(Landed("0" * 40, {"a": date(2026, 1, 1), "b": date(2026, 1, 5)})))
    begin({"a": date(2026, 1, 2), "b": date(2026, 1, 2)}, file, clone.folder)
    assert landed(file) == Landed(head, {"a": date(2026, 1, 2), "b": date(2026, 1, 5)})


def test_the_last_landing_is_an_ancestor() -> None:
    assert changed_files(landed().commit) is not None, REPOSITORY


def test_a_machine_records_green_and_failed_modules(tmp_path: Path) -> None:
    file, one, two = tmp_path / "record", date(2026, 1, 1), date(2026, 1, 2)
    Record(file).add({"a": True, "b": False}, one, {})
    assert (Record(file).green, Record(file).failed) == ({"a": one}, {"b"})
    Record(file).add({"a": False, "b": True}, two, {})
    assert (Record(file).green, Record(file).failed) == ({"a": one, "b": two}, {"a"})


def test_a_machine_records_what_a_module_passed_with(tmp_path: Path) -> None:
    file, day = tmp_path / "record", date(2026, 1, 1)
    now = {"a": "digest a", "b": "digest b", "c": "digest c"}
    Record(file).add({"a": True, "b": False}, day, now)
    assert Record(file).proven(now) == {"a": day}, "neither one that failed nor one that never ran"
    assert Record(file).proven(now | {"a": "another"}) == {}
    # A file of its was edited while it ran.
    Record(file).add({"a": True}, day, {"b": "digest b"})
    assert Record(file).proven(now) == {}
    Record(file).add({"a": True}, day, now)
    Record(file).add({"a": False}, day, now)
    assert Record(file).proven(now) == {}
