"""Only files of the job itself can be opened, whatever its program has put there."""

from __future__ import annotations

import doctest
import os
import threading
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.artifacts import names
from devctl_gateway.artifacts.beneath import NoFileError, opened
from devctl_gateway.artifacts.names import DEEPEST, LONGEST, parts_of
from hypothesis import example, given
from hypothesis import strategies as st
from support.artifacts import JOB, OTHER, SECRET, TRICKS, fill

if TYPE_CHECKING:
    from pathlib import Path


def content(top: Path, path: str, job: str = JOB) -> bytes:
    file, about = opened(top, job, path)
    with file:
        found = file.read()
    assert len(found) == about.st_size
    return found


def test_examples() -> None:
    assert doctest.testmod(names).failed == 0


def test_a_file_is_opened_by_its_path(tmp_path: Path) -> None:
    fill(tmp_path)
    assert content(tmp_path, "out/deep/model.pt") == b"weights"
    assert content(tmp_path, "loss.csv") == b"1,2\n"


@pytest.mark.parametrize("path", TRICKS, ids=ascii)
def test_nothing_else_is(tmp_path: Path, path: str) -> None:
    fill(tmp_path)
    with pytest.raises(NoFileError):
        opened(tmp_path, JOB, path)


@pytest.mark.parametrize(
    "job", ["", ".", "..", "lost+found", f"{JOB}/..", f"../{JOB}", ".removed-x", "none", "a\0"]
)
def test_only_folders_of_jobs_are_entered(tmp_path: Path, job: str) -> None:
    fill(tmp_path)
    (tmp_path / "loss.csv").write_bytes(b"x")
    with pytest.raises(NoFileError):
        opened(tmp_path, job, "loss.csv")


def test_a_job_whose_folder_is_a_link_has_no_files(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "job-000000000000").symlink_to(OTHER)
    with pytest.raises(NoFileError):
        opened(tmp_path, "job-000000000000", "secret")


def test_a_volume_that_is_not_there_is_no_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "none", JOB, "a")


def test_nothing_is_left_open(tmp_path: Path) -> None:
    fill(tmp_path)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - there is no such Path
    for path in TRICKS:
        with pytest.raises(NoFileError):
            opened(tmp_path, JOB, path)
    opened(tmp_path, JOB, "out/deep/model.pt")[0].close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_program_that_swaps_files_for_links_gains_nothing(tmp_path: Path) -> None:
    own = fill(tmp_path)
    (own / "swap").mkdir()
    (own / "swap/secret").write_bytes(b"own")
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            (own / "swap").rename(own / "away")
            (own / "swap").symlink_to(tmp_path / OTHER)
            (own / "swap").unlink()
            (own / "away").rename(own / "swap")

    thread = threading.Thread(target=swap)
    thread.start()
    found: set[bytes] = set()
    try:
        for _ in range(5000):
            try:
                found.add(content(tmp_path, "swap/secret"))
            except NoFileError:
                found.add(b"none")
    finally:
        ended.set()
        thread.join()
    assert SECRET not in found
    assert b"own" in found


paths = st.lists(
    st.sampled_from(["..", ".", "", "a", "up", "link", "\0", OTHER, "secret", "/", "\\", "\n"])
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=4),
    min_size=1,
    max_size=6,
).map("/".join)


@given(paths)
@example("a/../a")
@example("x" * (LONGEST + 1))
@example("\u00e4" * LONGEST)
@example("a/" * DEEPEST + "a")
def test_the_parts_of_any_text_are_names_of_files_or_none(text: str) -> None:
    parts = parts_of(text)
    assert not parts or "/".join(parts) == text
    assert len(parts) <= DEEPEST
    assert len("".join(parts).encode()) <= LONGEST
    for part in parts:
        assert part not in {"", ".", ".."}
        assert not {"/", "\0", "\n", "\x1b"} & {*part}


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("volume")
    fill(top)
    return top


@given(paths)
@example(f"up/../{OTHER}/secret")
@example(f"out/../../{OTHER}/secret")
def test_no_text_leads_to_another_job(volume: Path, text: str) -> None:
    try:
        found = content(volume, text)
    except NoFileError:
        return
    assert found in {b"weights", b"1,2\n"}


def test_what_takes_the_place_of_a_file_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fill(tmp_path)
    looked = os.stat

    def then_swapped(*given: object, **named: object) -> os.stat_result:
        found = looked(*given, **named)  # type: ignore[arg-type]
        (own / "loss.csv").unlink()
        os.link(tmp_path / OTHER / "secret", own / "loss.csv")
        return found

    with monkeypatch.context() as patched:
        patched.setattr("os.stat", then_swapped)
        with pytest.raises(NoFileError):
            opened(tmp_path, JOB, "loss.csv")
