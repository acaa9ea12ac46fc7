"""Archives from a pod that is not trusted."""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.client.files import incoming as incoming_files
from devctl.client.files.archive import END
from devctl.client.files.ignore import INCOMING
from devctl.client.files.incoming import Unpacking, fetch, incoming, put_folder
from devctl.errors import DevctlError, HostError
from unit.client.pods import place, tree
from unit.client.tars import HARMLESS, info, link, tar

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOM = 1 << 20
ALL = frozenset(
    ["a", "b", "c", "deep/a", "deep/b", "link", "link/a", "link/evil", "deep/link", *HARMLESS]
)


def pieces(data: bytes, size: int = 700, end: bytes = END) -> Iterator[bytes]:
    data += end
    for at in range(0, len(data), size):
        yield data[at : at + size]


@pytest.fixture
def arrived(tmp_path: Path) -> Path:
    folder = tmp_path / "top" / "arrived"
    folder.mkdir(parents=True)
    return folder


def take(arrived: Path, data: bytes, wanted: frozenset[str] = ALL, room: int = ROOM) -> Unpacking:
    unpacking = Unpacking(arrived, room, wanted)
    unpacking.take(pieces(data))
    return unpacking


@pytest.mark.parametrize("style", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("size", [1, 511, 512, 10240])
def test_what_honest_programs_write_is_read(arrived: Path, style: int, size: int) -> None:
    data = tar(*((f"./{name}", content) for name, content in HARMLESS.items()), style=style)
    unpacking = Unpacking(arrived, ROOM, ALL)
    unpacking.take(pieces(data, size))
    assert tree(arrived) == HARMLESS
    assert unpacking.files == list(HARMLESS)


@pytest.mark.parametrize("style", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_several_archives_in_a_row(arrived: Path, style: int) -> None:
    name = "/".join(["x" * 120, "ü" * 100, "y" * 50])
    target = "z" * 150
    first = tar(("a", b"1"), (name, b"long"), style=style)
    second = tar(link("link", target), ("b", b"2"), style=style)
    take(arrived, first + second, frozenset([*ALL, name]))
    assert tree(arrived) == {"a": b"1", "b": b"2", name: b"long"}
    assert os.readlink(arrived / "link") == target  # noqa: PTH115 - as text


def test_modes_and_times_are_tamed(arrived: Path) -> None:
    data = tar(
        info("a", mode=0o6777, mtime=-5), info("b", mode=0, mtime=1 << 40), info("c", mode=0o755)
    )
    take(arrived, data)
    about = {name: (arrived / name).stat() for name in "abc"}
    assert not any(found.st_mode & 0o6022 for found in about.values())
    assert all(found.st_mode & stat.S_IRUSR for found in about.values())
    assert about["c"].st_mode & stat.S_IXUSR
    assert 0 <= about["a"].st_mtime <= about["b"].st_mtime <= 1 << 33


def test_a_hard_link_is_a_copy_of_what_was_sent(arrived: Path) -> None:
    take(arrived, tar(("./a", b"content"), link("./deep/b", "./a", tarfile.LNKTYPE)))
    assert tree(arrived) == {"a": b"content", "deep/b": b"content"}
    assert (arrived / "a").stat().st_nlink == 1


@pytest.mark.parametrize("target", [".git/hooks/pre-commit", "deep/../.GIT", "git~1"])
def test_no_link_leads_into_a_repository(target: str, arrived: Path) -> None:
    unpacking = take(arrived, tar(("a", b"1"), link("link", target)))
    assert [line.partition(": ")[0] for line in unpacking.left_out] == ["`link`"]
    assert os.listdir(arrived) == ["a"]  # noqa: PTH208


HOSTILE = {
    "absolute": [("/etc/evil", b"x")],
    "above": [("../evil", b"x")],
    "above, later": [("deep/../../evil", b"x")],
    "not asked for": [("evil", b"x")],
    "twice": [("a", b"x"), ("a", b"y")],
    "control characters": [("a\x1b[31m", b"x")],
    "not UTF-8": [("\udcff", b"x")],
    "device": [info("a", type=tarfile.CHRTYPE)],
    "block device": [info("a", type=tarfile.BLKTYPE)],
    "pipe": [info("a", type=tarfile.FIFOTYPE)],
    "unknown": [info("a", type=b"Z")],
    "sparse": [info("a", type=tarfile.GNUTYPE_SPARSE)],
    "hard link to what was not sent": [link("a", "b", tarfile.LNKTYPE)],
    "hard link out": [link("a", "/etc/passwd", tarfile.LNKTYPE)],
    "hard link above": [link("a", "../../secret", tarfile.LNKTYPE)],
    "hard link to itself": [link("a", "a", tarfile.LNKTYPE)],
    "hard link to a link": [link("link", "/etc/passwd"), link("a", "link", tarfile.LNKTYPE)],
    "file under a file": [("link", b"x"), ("link/a", b"x")],
    "file through a link": [link("link", "deep"), ("link/evil", b"x"), ("deep/a", b"")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_what_no_honest_pod_sends_ends_it(members: list[tarfile.TarInfo], arrived: Path) -> None:
    above = arrived.parent.parent
    (above / "secret").write_text("secret")
    with pytest.raises(DevctlError) as raised:
        take(arrived, tar(("c", b"first"), *members))
    assert raised.value.message.isprintable()
    assert sorted(os.listdir(above)) == ["secret", "top"]  # noqa: PTH208 - names alone
    assert os.listdir(above / "top") == ["arrived"]  # noqa: PTH208
    assert b"secret" not in tree(arrived).values()


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../x", "a/../../x", "deep/../.."])
def test_links_that_leave_are_left_out(target: str, arrived: Path) -> None:
    unpacking = take(arrived, tar(link("link", target), ("a", b"x")))
    assert unpacking.files == ["a"]
    assert unpacking.left_out[0].startswith("`link`: this link lead")
    assert tree(arrived) == {"a": b"x"}


def test_links_within_are_kept(arrived: Path) -> None:
    take(arrived, tar(link("deep/link", "../a"), ("a", b"x"), link("link", "deep")))
    assert (arrived / "deep" / "link").read_bytes() == b"x"
    assert (arrived / "link").is_dir()


def test_more_than_there_is_room_for_is_not_taken(
    arrived: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HostError, match="no room here"):
        take(arrived, tar(("a", b"x" * 600), ("b", b"x" * 600)), room=1000)
    with pytest.raises(HostError, match="no room here"):
        take(arrived, tar(("c", b"x" * 600), link("deep/a", "c", tarfile.LNKTYPE)), room=1000)
    monkeypatch.setattr(incoming_files, "room", lambda _target: 1000)
    with pytest.raises(HostError, match=r"room for 1\.0 KB here, and these files have 2\.0 KB"):
        fetch(place(), {"a": 2000}, arrived)


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g"])
def test_a_header_that_is_announced_as_huge_is_not_kept(kind: bytes, arrived: Path) -> None:
    header = info("x", type=kind, size=1 << 33).tobuf(tarfile.GNU_FORMAT)
    asked = 0

    def endless() -> Iterator[bytes]:
        nonlocal asked
        yield header
        while True:
            asked += 1
            yield b"x" * 65536

    with pytest.raises(DevctlError, match="a header of"):
        Unpacking(arrived, ROOM, ALL).take(endless())
    assert asked < 3


@pytest.mark.parametrize("cut", [0, 1, 300, 512, 700, 1500, 2560, 10240])
def test_what_is_cut_off_is_noticed(cut: int, arrived: Path) -> None:
    data = tar(("a", b"x" * 2000), ("b", b"x"))
    with pytest.raises(DevctlError, match="did not arrive as a whole"):
        Unpacking(arrived, ROOM, ALL).take(pieces(data[:cut], end=b""))


@pytest.mark.parametrize("size", [b"\x80" + b"\x7f" * 11, b"\xff" * 12, b"99999999999\0", b"-1\0"])
def test_sizes_that_are_none(size: bytes, arrived: Path) -> None:
    header = bytearray(info("a").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = size.ljust(12, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    with pytest.raises(
        DevctlError,
        match=r"sent (an invalid size|something that is not an archive); nothing was taken",
    ):
        take(arrived, bytes(header) + b"\0" * 1024)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_bytes_are_an_archive_or_an_error(data: st.DataObject) -> None:
    whole = bytearray(
        tar(("a", b"x" * 700), link("link", "a"), ("deep/b", b"y"), link("b", "a", tarfile.LNKTYPE))
    )
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + 1] = data.draw(st.binary(max_size=3))
    if data.draw(st.booleans()):
        # A broken checksum hides what is behind it.
        for at in range(0, len(whole) - 511, 512):
            if whole[at + 257 : at + 262] == b"ustar":
                whole[at + 148 : at + 156] = b" " * 8
                whole[at + 148 : at + 156] = b"%06o\0 " % sum(whole[at : at + 512])
    check(bytes(whole))


NAME = st.sampled_from([*sorted(ALL), "..", "../evil", "/evil", "link/../../evil", ".", "", "a/."])
TARGET = st.sampled_from(["/etc", "..", "../..", "a", "deep", ".", "../evil", "link", "deep/.."])
MEMBER = st.one_of(
    st.tuples(NAME, st.binary(max_size=20)),
    st.builds(link, NAME, TARGET, st.sampled_from([tarfile.SYMTYPE, tarfile.LNKTYPE])),
    st.builds(info, NAME, type=st.sampled_from([tarfile.DIRTYPE, tarfile.FIFOTYPE])),
)


@settings(max_examples=150)
@given(st.lists(MEMBER, max_size=8))
def test_any_members_stay_in_the_folder(members: list[tarfile.TarInfo]) -> None:
    check(tar(*members))


@given(st.binary(max_size=2000))
def test_any_noise_is_an_error_or_nothing(noise: bytes) -> None:
    check(noise)


def check(data: bytes) -> None:
    """Whatever is in an archive, what is above the folder stays as it is."""
    with tempfile.TemporaryDirectory() as above:
        arrived = Path(above) / "top" / "arrived"
        arrived.mkdir(parents=True)
        with suppress(DevctlError):
            take(arrived, data)
        assert os.listdir(above) == ["top"]  # noqa: PTH208
        assert os.listdir(Path(above) / "top") == ["arrived"]  # noqa: PTH208
        for file in arrived.rglob("*"):
            if file.is_symlink():
                assert Path(os.path.realpath(file)).is_relative_to(arrived.resolve())
            else:
                assert stat.S_IFMT(file.lstat().st_mode) in {stat.S_IFREG, stat.S_IFDIR}


def test_a_full_disk_is_told_of(arrived: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(HostError, match="No space left on device; nothing here was changed"):
        take(arrived, tar(("a", b"x")))


def put(arrived: Path, target: Path, data: bytes, **how: bool) -> None:
    unpacking = take(arrived, data)
    may = how.get("replace", False)
    put_folder(arrived, target, unpacking, may_replace=lambda *_: may)


def test_what_is_here_is_not_replaced(arrived: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "b").write_text("mine")
    with pytest.raises(DevctlError, match="`b` would be replaced"):
        put(arrived, target, tar(("a", b"x"), ("b", b"theirs")))
    assert tree(target) == {"b": b"mine"}


def test_what_is_the_same_is_no_trouble(arrived: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (target / "deep").mkdir(parents=True)
    (target / "deep" / "b").write_text("same")
    (target / "link").symlink_to("a")
    put(arrived, target, tar(("a", b"x"), ("deep/b", b"same"), link("link", "a")))
    assert tree(target) == {"a": b"x", "deep/b": b"same"}


def test_no_link_here_is_written_through(arrived: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    (target / "deep").symlink_to(elsewhere)
    (elsewhere / "secret").write_text("secret")
    (target / "a").symlink_to(elsewhere / "secret")
    with pytest.raises(DevctlError, match="`deep` in `deep` is a link or a file here"):
        put(arrived, target, tar(("deep/b", b"x")), replace=True)
    again = arrived.with_name("again")
    again.mkdir()
    put(again, target, tar(("a", b"x")), replace=True)
    assert tree(elsewhere) == {"secret": b"secret"}
    assert tree(target) == {"a": b"x"}


def test_a_folder_is_not_replaced_by_a_file(arrived: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (target / "a").mkdir(parents=True)
    with pytest.raises(DevctlError, match="`a` is a folder or a device here"):
        put(arrived, target, tar(("a", b"x"), ("b", b"x")), replace=True)
    assert tree(target) == {}


def test_what_is_on_its_way_is_gone_in_the_end(tmp_path: Path) -> None:
    with incoming(tmp_path) as folder:
        assert folder.name.startswith(INCOMING)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def interrupted() -> None:
        with incoming(tmp_path) as folder:
            (folder / "deep").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_what_was_left_behind_goes_after_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = tmp_path / f"{INCOMING}stale"
    stale.mkdir()
    (stale / "half").write_text("x")
    (tmp_path / f"{INCOMING}file").write_text("not ours")
    (tmp_path / f"{INCOMING}link").symlink_to("/etc")
    with incoming(tmp_path):
        assert stale.is_dir()
    monkeypatch.setattr(incoming_files, "_STALE", -1.0)
    with incoming(tmp_path):
        assert not stale.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        f"{INCOMING}file",
        f"{INCOMING}link",
    ]


def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", denied)
    with pytest.raises(DevctlError, match="cannot write into"), incoming(tmp_path):
        pass


def test_what_comes_is_counted(arrived: Path) -> None:
    moved: list[int] = []
    unpacking = Unpacking(arrived, ROOM, ALL, moved.append)
    unpacking.take(pieces(tar(("a", b"x" * 1000))))
    assert sum(moved) == 1000
