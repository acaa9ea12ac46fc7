from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from devctl_inference import files
from devctl_inference.failure import Failure, Reason
from devctl_inference.files import File
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = files.INPUT._replace(limit=10)


def refused(path: str, volume: Path, kind: files.Kind = SMALL) -> tuple[Reason, str]:
    with pytest.raises(Failure) as caught:
        File(path, volume, kind).read()
    return caught.value.reason, caught.value.message


def test_a_file_is_read_also_through_links_that_stay_inside(volume: Path) -> None:
    (volume / "folder").mkdir()
    (volume / "folder" / "a").write_bytes(b"there")
    (volume / "link").symlink_to("folder")
    (volume / "absolute").symlink_to(volume / "link" / "a")
    for name in ("folder/a", "link/a", "absolute", "folder/../folder/a"):
        assert File(f"{volume}/{name}", volume, SMALL).read() == b"there"


def test_what_is_not_there_is_missing(volume: Path) -> None:
    assert File(f"{volume}/a", volume, SMALL).look() is None
    assert refused(f"{volume}/a", volume)[0] is Reason.INPUT_MISSING


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(Path.mkdir, Reason.INPUT_INVALID, id="folder"),
        pytest.param(os.mkfifo, Reason.INPUT_INVALID, id="fifo"),
        pytest.param(lambda p: p.symlink_to("/dev/zero"), Reason.INPUT_INVALID, id="device"),
        pytest.param(lambda p: p.symlink_to("/etc/passwd"), Reason.INPUT_INVALID, id="outside"),
        pytest.param(lambda p: p.symlink_to("../secret"), Reason.INPUT_INVALID, id="above"),
        pytest.param(lambda p: p.symlink_to("../artifacts2/a"), Reason.INPUT_INVALID, id="beside"),
        pytest.param(lambda p: p.symlink_to(p.name), Reason.INPUT_INVALID, id="circle"),
        pytest.param(lambda p: p.symlink_to("a" * 255), Reason.INPUT_MISSING, id="dangling"),
        pytest.param(lambda p: p.touch(), Reason.INPUT_INVALID, id="empty"),
        pytest.param(lambda p: p.write_bytes(bytes(11)), Reason.INPUT_TOO_LARGE, id="large"),
    ],
)
def test_what_is_no_file_of_the_volume_is_refused_at_once(
    volume: Path, make: Callable[[Path], object], reason: Reason
) -> None:
    (volume.parent / "secret").write_text("secret")
    (volume.parent / "artifacts2").mkdir()
    (volume.parent / "artifacts2" / "a").write_text("secret")
    make(volume / "input")
    assert refused(f"{volume}/input", volume)[0] is reason


def test_a_file_that_may_not_be_read_is_named(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (volume / "input").write_bytes(b"x")

    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    assert refused(f"{volume}/input", volume) == (
        Reason.INPUT_INVALID,
        f"{volume}/input cannot be read: Permission denied",
    )


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = volume.parent / "outside"
    for folder in (volume / "folder", outside):
        folder.mkdir()
        (folder / "a").write_text("x")
    opened = os.open

    def swapped(path: Path, flags: int) -> int:
        (volume / "folder").rename(volume / "old")
        (volume / "folder").symlink_to(outside)
        return opened(path, flags)

    monkeypatch.setattr(os, "open", swapped)
    assert refused(f"{volume}/folder/a", volume)[0] is Reason.INPUT_INVALID


def test_a_file_that_becomes_a_link_meanwhile_is_not_followed(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (volume / "a").write_text("x")
    opened = os.open

    def swapped(path: Path, flags: int) -> int:
        (volume / "a").unlink()
        (volume / "a").symlink_to("/etc/passwd")
        return opened(path, flags)

    monkeypatch.setattr(os, "open", swapped)
    assert refused(f"{volume}/a", volume)[0] is Reason.INPUT_INVALID


def test_a_file_that_grows_meanwhile_is_read_to_its_limit(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (volume / "a").write_bytes(bytes(20))
    monkeypatch.setattr(File, "_check", lambda *_: None)
    assert refused(f"{volume}/a", volume)[0] is Reason.INPUT_TOO_LARGE


PARTS = st.sampled_from(["..", ".", "", "link", "folder", "up", "root", "secret", "a", "etc"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PARTS, max_size=8).map("/".join) | st.text(max_size=20))
@example("up/secret")
@example("root/etc/passwd")
@example("\0")
@example("a" * 5000)
def test_no_path_reads_anything_outside(volume: Path, tail: str) -> None:
    if not (volume / "folder").exists():
        (volume / "folder").mkdir()
        (volume / "folder" / "a").write_text("inside")
        (volume / "a").write_text("inside")
        (volume / "link").symlink_to("folder")
        (volume / "up").symlink_to("..")
        (volume / "root").symlink_to("/")
        (volume.parent / "secret").write_text("outside")
        (volume.parent / "a").write_text("outside")
    for path in (f"{volume}/{tail}", tail, f"/{tail}"):
        try:
            found = File(path, volume, SMALL).read()
        except Failure as failure:
            assert failure.reason in {Reason.INPUT_INVALID, Reason.INPUT_MISSING}  # noqa: PT017
        else:
            assert found == b"inside"
