"""Lists of files: sorted, in pages, and bounded whatever a program has made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl_gateway.artifacts import listing
from devctl_gateway.artifacts.listing import page
from devctl_gateway.artifacts.names import DEEPEST
from hypothesis import given, settings
from hypothesis import strategies as st
from support.artifacts import JOB, OTHER, fill, volume_of_user

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from devctl_gateway.artifacts.listing import Listing


def pages(top: Path, limit: int) -> list[Listing]:
    found = [page(top, JOB, "", limit)]
    while found[-1].last:
        found.append(page(top, JOB, found[-1].last, limit))
    return found


def paths(*found: Listing) -> list[str]:
    return [each.path for listing in found for each in listing.files]


def test_plain_files_alone_are_listed(tmp_path: Path) -> None:
    own = fill(tmp_path)
    os.utime(own / "loss.csv", (5, 5))
    found = page(tmp_path, JOB, "", 50)
    assert paths(found) == ["loss.csv", "out/deep/model.pt"]
    assert (found.files[0].size, found.files[0].modified) == (4, 5)
    assert (found.last, found.truncated) == ("", False)


def test_a_job_that_has_written_nothing_has_no_files(tmp_path: Path) -> None:
    (tmp_path / OTHER).mkdir()
    (tmp_path / "job-1").symlink_to(OTHER)
    for job in (OTHER, "none", "job-1", "..", ""):
        assert page(tmp_path, job, "", 50) == ([], "", False)


names = st.text(st.sampled_from("aB-./ \u00e4\U0001f600"), min_size=1, max_size=6).filter(
    lambda name: name not in {".", ".."} and "/" not in name
)


@settings(max_examples=40)
@given(st.sets(st.lists(names, min_size=1, max_size=3).map("/".join), max_size=12), st.data())
def test_pages_have_each_file_once_and_in_order(wanted: set[str], data: st.DataObject) -> None:
    with volume_of_user() as top:
        made = set()
        for path in sorted(wanted):
            file = top / JOB / path
            if any(above.is_file() for above in file.parents) or file.exists():
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            made.add(path)
        found = pages(top, data.draw(st.integers(1, 5)))
    assert paths(*found) == sorted(made)


def test_files_that_come_and_go_between_pages_hide_no_others(tmp_path: Path) -> None:
    own = tmp_path / JOB
    own.mkdir()
    for name in "bdfh":
        (own / name).touch()
    first = page(tmp_path, JOB, "", 2)
    (own / "a").touch()
    (own / "d").unlink()
    assert paths(first, page(tmp_path, JOB, first.last, 2)) == ["b", "d", "f", "h"]


def test_a_million_files_are_no_work_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST", 30)
    own = tmp_path / JOB
    for folder in "ab":
        (own / folder).mkdir(parents=True)
        for name in range(30):
            (own / folder / f"{name:02}").touch()
    found = page(tmp_path, JOB, "", 200)
    assert found.truncated
    assert len(found.files) == 28
    assert paths(*pages(tmp_path, 5)) == paths(found)
    assert all(each.truncated for each in pages(tmp_path, 5))


def test_as_many_as_may_be_are_not_called_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST", 30)
    (tmp_path / JOB).mkdir()
    for name in range(30):
        (tmp_path / JOB / str(name)).touch()
    assert not page(tmp_path, JOB, "", 5).truncated
    (tmp_path / JOB / "more").touch()
    assert page(tmp_path, JOB, "", 5).truncated


def test_a_tree_is_followed_to_a_depth_alone(tmp_path: Path) -> None:
    folder = tmp_path / JOB
    for _ in range(DEEPEST + 5):
        folder.mkdir()
        (folder / "file").touch()
        folder /= "d"
    found = page(tmp_path, JOB, "", 200)
    assert found.truncated
    assert max(path.count("/") for path in paths(found)) == DEEPEST - 1


def test_paths_that_are_too_long_are_said_to_be_left_out(tmp_path: Path) -> None:
    folder = tmp_path / JOB
    for _ in range(5):
        folder /= "x" * 250
    folder.mkdir(parents=True)
    (folder / "file").touch()
    (tmp_path / JOB / "short").touch()
    found = page(tmp_path, JOB, "", 200)
    assert (paths(found), found.truncated) == (["short"], True)


def test_a_folder_that_cannot_be_read_is_said_to_be_left_out() -> None:
    with volume_of_user() as top:
        (top / JOB / "shut").mkdir(parents=True)
        (top / JOB / "shut/a").touch()
        (top / JOB / "b").touch()
        (top / JOB / "shut").chmod(0)
        found = page(top, JOB, "", 200)
        assert (paths(found), found.truncated) == (["b"], True)
