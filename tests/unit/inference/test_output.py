from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from devctl_inference.failure import Failure, Reason
from devctl_inference.output import Output
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable


def refused(path: str, volume: Path) -> Reason:
    with pytest.raises(Failure) as caught:
        Output(path, volume).check()
    with pytest.raises(Failure) as again:
        Output(path, volume).write("x")
    assert caught.value.reason is again.value.reason
    return caught.value.reason


def test_folders_on_the_way_are_made(volume: Path) -> None:
    output = Output(f"{volume}/a/b/output.json", volume)
    output.check()
    assert list(volume.iterdir()) == []  # the check leaves nothing behind
    output.write("one")
    output.write("two")
    assert (volume / "a/b/output.json").read_text() == "two"
    assert [path.name for path in (volume / "a/b").iterdir()] == ["output.json"]
    assert (volume / "a/b/output.json").stat().st_mode & 0o444 == 0o444


def test_a_link_inside_the_volume_is_followed(volume: Path) -> None:
    (volume / "runs" / "7").mkdir(parents=True)
    (volume / "latest").symlink_to("runs/7")
    (volume / "link.json").symlink_to("latest/real.json")
    Output(f"{volume}/link.json", volume).write("x")
    assert (volume / "runs/7/real.json").read_text() == "x"
    assert (volume / "link.json").is_symlink()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Path.mkdir, id="folder"),
        pytest.param(os.mkfifo, id="fifo"),
        pytest.param(lambda path: path.symlink_to("/dev/null"), id="device"),
        pytest.param(lambda path: path.symlink_to("../secret"), id="outside"),
        pytest.param(lambda path: path.symlink_to("../nothing"), id="nothing-outside"),
        pytest.param(lambda path: path.symlink_to("."), id="the-volume"),
        pytest.param(lambda path: path.symlink_to(path.name), id="circle"),
    ],
)
def test_nothing_but_a_file_of_the_volume_is_replaced(
    volume: Path, make: Callable[[Path], object]
) -> None:
    (volume.parent / "secret").write_text("secret")
    make(volume / "output.json")
    assert refused(f"{volume}/output.json", volume) is Reason.OUTPUT_INVALID
    assert (volume.parent / "secret").read_text() == "secret"
    assert sorted(path.name for path in volume.parent.iterdir()) == ["artifacts", "secret"]


def test_paths_that_are_no_files_are_refused(volume: Path) -> None:
    (volume / "file").touch()
    for path in (f"{volume}", f"{volume}/", f"{volume}/..", f"{volume}/a/", "output.json", "/x"):
        assert refused(path, volume) is Reason.OUTPUT_INVALID
    assert refused(f"{volume}/file/under", volume) is Reason.OUTPUT_INVALID
    assert refused(f"{volume}/{'a' * 256}", volume) is Reason.OUTPUT_INVALID
    Output(f"{volume}/{'a' * 255}", volume).write("x")


def test_what_the_job_reads_is_not_overwritten(volume: Path) -> None:
    (volume / "photo.jpg").write_text("photo")
    (volume / "link").symlink_to("photo.jpg")
    with pytest.raises(Failure, match="is one of the files that the job reads") as caught:
        Output(f"{volume}/link", volume).check([f"{volume}/photo.jpg"])
    assert caught.value.reason is Reason.OUTPUT_INVALID


def test_a_link_planted_after_the_check_is_not_followed(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = volume.parent / "outside"
    outside.mkdir()
    mkdir = os.mkdir

    def planted(name: str, *, dir_fd: int) -> None:
        os.symlink(outside, name, dir_fd=dir_fd)
        mkdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", planted)
    with pytest.raises(Failure) as caught:
        Output(f"{volume}/folder/output.json", volume).write("x")
    assert caught.value.reason is Reason.OUTPUT_FAILED
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_failure_leaves_the_old_file_and_no_other(
    volume: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (volume / "output.json").write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(Failure, match=r"cannot be written: No space left on device$") as caught:
        Output(f"{volume}/output.json", volume).write("new")
    assert caught.value.reason is Reason.OUTPUT_FAILED
    assert (volume / "output.json").read_text() == "old"
    assert [path.name for path in volume.iterdir()] == ["output.json"]


PARTS = st.sampled_from(["..", ".", "", "up", "root", "a", "link", "new"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PARTS, max_size=6).map("/".join))
def test_no_path_writes_anything_outside(volume: Path, tail: str) -> None:
    if not (volume / "up").is_symlink():
        (volume / "up").symlink_to("..")
        (volume / "root").symlink_to(volume.parent / "outside")
        (volume / "link").symlink_to("new")
        (volume.parent / "outside").mkdir()
    try:
        Output(f"{volume}/{tail}", volume).write("x")
    except Failure as failure:
        assert failure.reason in {Reason.OUTPUT_INVALID, Reason.OUTPUT_FAILED}  # noqa: PT017
    assert sorted(path.name for path in volume.parent.iterdir()) == ["artifacts", "outside"]
    assert list((volume.parent / "outside").iterdir()) == []
