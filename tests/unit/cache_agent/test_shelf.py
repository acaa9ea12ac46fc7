"""The cache's folder: what is removed, and that a pod never loses what it has mounted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.problems import NoRoomError
from devctl_cache_agent.shelf import GOING, STAGING, Shelf, weight

if TYPE_CHECKING:
    from pathlib import Path

BYTES = 64 << 10


class Pods:
    """What pods have mounted; None if that is unknown."""

    def __init__(self) -> None:
        self.used: set[str] | None = set()
        self.before: list[set[str]] = []
        """What they had mounted at the next looks."""

    def __call__(self) -> set[str] | None:
        return self.before.pop(0) if self.before else self.used


@pytest.fixture
def pods() -> Pods:
    return Pods()


@pytest.fixture
def shelf(tmp_path: Path, pods: Pods) -> Shelf:
    shelf = Shelf(tmp_path, Limits(4 * BYTES, 0), pods)
    shelf.wanted = set
    return shelf


def fill(shelf: Shelf, path: str, at: float = 0.0) -> Path:
    folder = shelf.root / path
    folder.mkdir(parents=True)
    (folder / "data").write_bytes(os.urandom(BYTES))
    os.utime(folder, (at, at))
    return folder


def test_mirrors_and_revisions_are_held_with_what_they_weigh(shelf: Shelf) -> None:
    fill(shelf, "git/a", 5.0)
    fill(shelf, "models/models--x/snapshots/1")
    (shelf.root / "git" / "file").write_text("x")
    found = {each.path: each for each in shelf.held()}
    assert set(found) == {"git/a", "models/models--x/snapshots/1"}
    assert found["git/a"].length == weight(shelf.root / "git/a") >= BYTES
    assert found["git/a"].last_used == 5.0


def test_room_is_made_of_what_was_used_longest_ago(shelf: Shelf) -> None:
    old, new = fill(shelf, "git/old", 1.0), fill(shelf, "git/new", 2.0)
    shelf.make_room(3 * BYTES)
    assert not old.exists()
    assert new.exists()
    assert list((shelf.root / GOING).iterdir()) == []


def test_what_is_wanted_used_or_unknown_stays_and_the_reason_is_told(
    shelf: Shelf, pods: Pods
) -> None:
    wanted, used = fill(shelf, "git/wanted"), fill(shelf, "git/used")
    shelf.wanted = lambda: {"git/wanted"}
    pods.used = {"git/used"}
    with pytest.raises(NoRoomError, match=r"it needs 192\.0 KiB"):
        shelf.make_room(3 * BYTES)
    pods.used = None
    shelf.wanted = set
    with pytest.raises(NoRoomError):
        shelf.make_room(3 * BYTES)
    shelf.wanted = None
    pods.used = set()
    with pytest.raises(NoRoomError):
        shelf.make_room(3 * BYTES)
    assert wanted.exists()
    assert used.exists()


def test_a_full_disk_counts_as_well_as_the_setting(tmp_path: Path, pods: Pods) -> None:
    shelf = Shelf(tmp_path, Limits(1 << 40, 100), pods, free=lambda _path: 90)
    with pytest.raises(NoRoomError, match="may take only 0 B more"):
        shelf.make_room(1)


def test_what_turns_out_to_be_in_use_comes_back(shelf: Shelf, pods: Pods) -> None:
    folder = fill(shelf, "models/models--x/snapshots/1")
    # Unused when it is chosen; then a claim is prepared, whose containers are made later.
    pods.before, pods.used = [set()], {"models/models--x"}
    with pytest.raises(NoRoomError):
        shelf.make_room(4 * BYTES)
    assert (folder / "data").stat().st_size == BYTES
    assert list((shelf.root / GOING).iterdir()) == []
    pods.used = set()
    shelf.make_room(4 * BYTES)
    assert not folder.exists()


def test_what_was_set_aside_before_a_crash_comes_back(shelf: Shelf, pods: Pods) -> None:
    fill(shelf, "git/a")
    pods.before, pods.used = [set()], None
    with pytest.raises(NoRoomError):
        shelf.make_room(4 * BYTES)
    assert not (shelf.root / "git/a").exists()
    Shelf(shelf.root, Limits(4 * BYTES, 0), lambda: {"git/a"}).sweep()
    assert (shelf.root / "git/a" / "data").stat().st_size == BYTES


def test_a_pod_that_mounts_it_in_the_last_moment_keeps_it(shelf: Shelf, pods: Pods) -> None:
    fill(shelf, "git/a")
    # Unused when it is chosen, and nobody can say what it is after the rename.
    pods.before, pods.used = [set()], None
    with pytest.raises(NoRoomError):
        shelf.make_room(4 * BYTES)
    assert not (shelf.root / "git/a").exists()
    (kept,) = (shelf.root / GOING).iterdir()
    assert (kept / "entry" / "data").stat().st_size == BYTES
    # The kernel shows the new path.
    pods.used = {f"{GOING}/{kept.name}/entry"}
    shelf.sweep()
    assert kept.exists()
    pods.used = None
    shelf.sweep()
    assert kept.exists()
    pods.used = set()
    shelf.sweep()
    assert not kept.exists()


def test_what_replaces_something_leaves_the_old_one_to_its_pods(shelf: Shelf, pods: Pods) -> None:
    fill(shelf, "git/a")
    pods.used = {"git/a"}
    staged = shelf.staging("git-a", empty=True)
    (staged / "new").write_text("x")
    shelf.publish(staged, "git/a")
    assert (shelf.root / "git/a/new").exists()
    assert len(list((shelf.root / GOING).iterdir())) == 1


def test_what_was_interrupted_while_it_went_is_deleted_later(shelf: Shelf) -> None:
    half = shelf.root / GOING / "x"
    half.mkdir()
    shelf.sweep()
    assert not half.exists()


def test_use_is_remembered_and_not_made_up(shelf: Shelf, pods: Pods) -> None:
    for name in ("wanted", "used", "other"):
        fill(shelf, f"git/{name}", 1.0)
    pods.used = {"git/used/objects"}
    shelf.wanted = lambda: {"git/wanted"}
    shelf.touch()
    assert {each.path for each in shelf.held() if each.last_used > 1.0} == {
        "git/wanted",
        "git/used",
    }


def test_what_is_half_fetched_counts_and_goes_if_it_is_not_wanted(shelf: Shelf) -> None:
    for name in ("model-a-1", "model-b-1"):
        fill(shelf, f"{STAGING}/{name}")
    assert shelf.room() <= 2 * BYTES
    shelf.keep_staged(lambda name: name.startswith("model-a-"))
    assert [each.name for each in (shelf.root / STAGING).iterdir()] == ["model-a-1"]


def test_removing_what_is_not_there_is_nothing(shelf: Shelf) -> None:
    shelf.remove("git/none")
