"""What a job has written is removed, whatever it is, and nothing else is."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.artifacts.removal import ASIDE, folders, purge, remove_artifacts, set_aside
from devctl_gateway.settings import Settings
from support.artifacts import JOB, OTHER, SECRET, fill, volume_of_user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = 60.0


@pytest.fixture
def volume() -> Iterator[Path]:
    with volume_of_user() as top:
        yield top


def removed(top: Path) -> bool:
    """Whether a job's folder is gone after one go."""
    set_aside(top, JOB)
    assert not os.path.lexists(top / JOB)
    done = [purge(top, aside, LONG) for aside in folders(top).aside]
    return all(done) and not folders(top).aside


def test_every_trick_is_removed_and_what_links_lead_to_stays(volume: Path) -> None:
    own = fill(volume)
    (volume / "precious").mkdir()
    (volume / "precious/file").touch()
    (own / "away").symlink_to(volume / "precious")
    assert removed(volume)
    assert (volume / OTHER / "secret").read_bytes() == SECRET
    assert (volume / "precious/file").exists()
    assert {each.name for each in volume.iterdir()} == {OTHER, "precious"}


def test_folders_without_permissions_are_removed(volume: Path) -> None:
    shut = volume / JOB / "a/b/c"
    shut.mkdir(parents=True)
    (shut / "file").touch()
    (shut / "empty").mkdir(mode=0)
    for folder in (shut, shut.parent, shut.parent.parent, volume / JOB):
        folder.chmod(0)
    assert removed(volume)


def test_a_folder_of_the_kubelet_s_is_removed_if_all_may_write_to_it(volume: Path) -> None:
    own = volume / JOB
    own.mkdir()
    own.chmod(0o777)
    (own / "a").mkdir()
    (own / "a/b").touch()
    if os.getuid() == 0:
        os.seteuid(0)
        os.chown(own, 0, 0)
        os.seteuid(1000)
    assert removed(volume)


def test_a_tree_deeper_than_any_path_takes_few_descriptors(volume: Path) -> None:
    own = volume / JOB
    own.mkdir()
    here = os.open(own, os.O_RDONLY)
    for _ in range(2500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert removed(volume)


def test_what_takes_long_is_removed_in_parts(volume: Path) -> None:
    own = volume / JOB
    for folder in range(20):
        (own / str(folder)).mkdir(parents=True)
        for name in range(20):
            (own / str(folder) / str(name)).touch()
    set_aside(volume, JOB)
    (aside,) = folders(volume).aside
    assert not purge(volume, aside, 0)
    tries = 1
    while not purge(volume, aside, 0.001):
        tries += 1
    assert tries > 1
    assert not list(volume.iterdir())


def test_two_replicas_may_remove_the_same(volume: Path) -> None:
    own = volume / JOB
    for folder in range(50):
        (own / f"{folder}/a/b/c").mkdir(parents=True)
        (own / f"{folder}/a/b/file").touch()
    done: list[bool] = []

    def one() -> None:
        set_aside(volume, JOB)
        for aside in folders(volume).aside:
            while not purge(volume, aside, LONG):
                pass
        done.append(True)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    assert not list(volume.iterdir())


def test_what_cannot_be_removed_is_an_error_and_not_tried_forever(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (volume / JOB / "a").mkdir(parents=True)
    (volume / JOB / "a/file").touch()
    set_aside(volume, JOB)
    (aside,) = folders(volume).aside

    def busy(*_given: object, **_named: object) -> None:
        raise OSError(errno.EBUSY, "somebody reads it")

    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", busy)
        with pytest.raises(OSError, match="somebody reads it"):
            purge(volume, aside, LONG)


def test_folders_are_told_apart(volume: Path) -> None:
    fill(volume)
    for name in ("lost+found", f"{ASIDE}x"):
        (volume / name).mkdir()
    (volume / "job-file").touch()
    (volume / "job-link").symlink_to(OTHER)
    assert folders(volume) == ([JOB, OTHER], [f"{ASIDE}x"])


@pytest.mark.parametrize("name", ["", ".", "..", "lost+found", f"../{JOB}", "none"])
def test_only_folders_of_jobs_are_set_aside(volume: Path, name: str) -> None:
    fill(volume)
    (volume / "lost+found").mkdir()
    set_aside(volume, name)
    assert {each.name for each in volume.iterdir()} == {JOB, OTHER, "lost+found"}


@pytest.mark.anyio
async def test_a_deleted_job_s_files_are_gone_at_once(tmp_path: Path) -> None:
    fill(tmp_path)
    settings = Settings("", artifacts_claim="kept", artifacts_folder=str(tmp_path))
    await remove_artifacts(settings, JOB)
    await remove_artifacts(settings, JOB)
    found = folders(tmp_path)
    assert (found.jobs, len(found.aside)) == ([OTHER], 1)
    await remove_artifacts(Settings(""), OTHER)
    assert folders(tmp_path).jobs == [OTHER]
