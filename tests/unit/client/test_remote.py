"""Scripts for pods, run by the shells of this machine: names, conflicts, cut-off copies."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.client.files import remote, scripts
from devctl.client.files.archive import Members, pack
from devctl.client.files.ignore import INCOMING
from devctl.client.files.incoming import Unpacking
from devctl.client.files.local import entry, select
from devctl.client.files.transfer import Transfer
from devctl.errors import ConnectionLostError, DeniedError, DevctlError, NotFoundError, UsageError
from unit.client.pods import place, pods, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATH = "/home/dev/p"
ODD = [
    "; rm -rf .",
    "$(touch evil)",
    "`touch evil`",
    "-rf",
    "--help",
    "a\nb",
    "a\\nb",
    "a\n",
    "\\",
    "'\"",
    " ",
    "*",
    "[a]",
    "?",
    "ü€",
    "\udcff\udcfe",
    "a" * 200,
]
NAMES = st.binary(min_size=1, max_size=30).map(
    lambda raw: os.fsdecode(raw.replace(b"/", b"_").replace(b"\0", b"_"))
).filter(lambda name: name not in {".", ".."} and not name.startswith(INCOMING))  # fmt: skip


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the pod `lab-0` that PATH is."""
    pods(monkeypatch, tmp_path / "pods")
    folder = tmp_path / "pods" / "lab-0" / "home" / "dev" / "p"
    folder.mkdir(parents=True)
    return folder


def give(root: Path, *names: str, lists: dict[str, list[str]] | None = None) -> None:
    entries = [entry(root, name) for name in names]
    remote.receive(place(PATH), lambda send: void(pack(send, root, entries, lists or {})))


def deliver(data: bytes, send: Callable[[bytes], None]) -> None:
    send(data)


def void(_value: object) -> None:
    """Nothing is returned."""


def write(root: Path, files: dict[str, str]) -> list[str]:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return list(files)


def fetched(root: Path, *names: str) -> list[str]:
    unpacking = Unpacking(root, 1 << 20, frozenset(names))
    return remote.fetch(place(PATH), names, unpacking.take)


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_odd_names_arrive_and_come_back(
    shell: str, here: Path, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which(shell)
    if program:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "sh").symlink_to(program)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    names = write(here, {f"{folder}{name}": name.encode(errors="replace").decode() for folder in (
        "", "-d/", "a b\n/") for name in ODD if name != "a\n" or not folder})  # fmt: skip
    (here / "link").symlink_to("-d/$(x)")
    (here / "empty" / "deep").mkdir(parents=True)
    give(here, *names, "link", "empty/deep")
    assert tree(there) == tree(here)
    assert os.readlink(there / "link") == "-d/$(x)"  # noqa: PTH115 - as text
    assert (there / "empty" / "deep").is_dir()
    found, problems = remote.find(place(PATH))
    assert set(names) <= set(found)
    assert problems == []
    looked = remote.look(place(PATH), [*names, "missing", "link"])
    assert list(looked) == [*names, "link"]
    assert all(looked[name].size == (here / name).stat().st_size for name in names)
    assert all(looked[name].mtime == int((here / name).stat().st_mtime) for name in names)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, st.binary(max_size=30), max_size=5), st.sets(NAMES, max_size=2))
def test_any_name_arrives_and_does_nothing_else(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], missing: set[str]
) -> None:
    with tempfile.TemporaryDirectory() as above:
        source = Path(above) / "here"
        source.mkdir()
        pods(monkeypatch, Path(above))
        for name, content in files.items():
            (source / name).write_bytes(content)
        give(source, *files)
        assert tree(Path(above) / "lab-0/home/dev/p") == files
        assert sorted(os.listdir(above)) == ["here", "lab-0"]  # noqa: PTH208 - names alone
        names = sorted(missing | files.keys())
        looked = remote.look(place(PATH), names)
        assert {name: found.size for name, found in looked.items()} == {
            name: len(content) for name, content in files.items()
        }


def test_what_is_there_is_replaced_and_what_is_not_sent_stays(here: Path, there: Path) -> None:
    write(there, {"a": "old", "deep/b": "old", "deep/other": "stays"})
    (there / "link").symlink_to("deep")
    names = write(here, {"a": "new", "deep/b": "new", "link": "no link any more"})
    give(here, *names)
    assert tree(there) == {
        "a": b"new",
        "deep/b": b"new",
        "deep/other": b"stays",
        "link": b"no link any more",
    }
    assert not list(there.glob(f"{INCOMING}*"))


def test_what_is_to_be_deleted_goes(here: Path, there: Path) -> None:
    write(there, {"-rf": "x", "deep/er/b": "x", "stays/c": "x", "d": "x"})
    lists = {"delete": ["-rf", "deep/er/b"], "rmdir": ["deep/er", "deep", "stays"]}
    give(here, *write(here, {"e": "x"}), lists=lists)
    assert sorted(tree(there)) == ["d", "e", "stays/c"]
    assert not (there / "deep").exists()


@pytest.mark.parametrize(("sent", "kept"), [("a", "a/b"), ("a/b", "a")])
def test_a_file_for_a_folder_changes_nothing(sent: str, kept: str, here: Path, there: Path) -> None:
    write(there, {kept: "kept", "other": "old"})
    names = write(here, {sent: "x", "other": "new"})
    with pytest.raises(DevctlError, match="`a` is a folder there and a file here"):
        give(here, *names)
    assert tree(there) == {kept: b"kept", "other": b"old"}
    assert not list(there.glob(f"{INCOMING}*"))


def test_what_is_cut_off_is_not_taken(here: Path, there: Path) -> None:
    write(there, {"a": "old"})
    write(here, {"a": "new" * 5000, "b": "x" * 5000})
    whole = bytearray()
    pack(whole.extend, here, [entry(here, "a"), entry(here, "b")], {})
    for cut in (0, 512, 1024, 512 + 15360, 16384, 16385, 21504):
        part = bytes(whole[:cut])
        with pytest.raises(
            DevctlError, match=r"tar archive|Unexpected EOF in archive|did not arrive as a whole"
        ):
            remote.receive(place(PATH), partial(deliver, part))
        assert tree(there) == {"a": b"old"}
        assert not list(there.glob(f"{INCOMING}*"))


def test_what_changes_while_it_is_read_is_not_taken(here: Path, there: Path) -> None:
    write(there, {"a": "old"})
    write(here, {"a": "x" * 2_000_000, "b": "fine", "gone": "x", "was": "x"})
    entries = [entry(here, name) for name in ("a", "b", "gone", "was")]
    (here / "gone").unlink()
    (here / "was").write_text("longer")
    changed: list[str] = []

    def feed(send: Callable[[bytes], None]) -> None:
        def cutting(data: bytes) -> None:
            send(data)
            os.truncate(here / "a", 10)

        changed.extend(pack(cutting, here, entries, {}))

    remote.receive(place(PATH), feed)
    assert changed == ["a", "gone", "was"]
    assert tree(there) == {"a": b"old", "b": b"fine"}


def test_digests_are_of_what_was_sent(here: Path, there: Path) -> None:
    names = write(here, {"a\nb": "x", "-c": "y", "empty": ""})
    sent: dict[str, str] = {}
    entries = [entry(here, name) for name in names]
    remote.receive(place(PATH), lambda send: void(pack(send, here, entries, {}, digests=sent)))
    assert remote.digests(place(PATH), names) == sent
    (there / "-c").unlink()
    assert sorted(remote.digests(place(PATH), names)) == ["a\nb", "empty"]
    assert remote.digests(place(PATH), []) == {}


def test_a_name_can_be_another_one_there(here: Path, there: Path) -> None:
    write(here, {"a": "x"})
    entries = select(here, ["a"]).entries
    remote.receive(
        place(PATH), lambda send: void(pack(send, here, entries, {}, rename=lambda _: "b/c"))
    )
    assert tree(there) == {"b/c": b"x"}


def test_stale_copies_of_ours_go_and_others_stay(here: Path, there: Path) -> None:
    stale = there / f"{INCOMING}stale"
    fresh = there / f"{INCOMING}fresh"
    going_on = there / f"{INCOMING}going-on"
    for folder in (stale, fresh, going_on):
        write(folder, {"deep/half": "x"})
    for folder in (stale, going_on):
        for path in (folder / "deep" / "half", folder / "deep", folder):
            os.utime(path, (1, 1))
    (going_on / "deep" / "more").write_text("written just now")
    (there / f"{INCOMING}link").symlink_to("/etc")
    give(here, *write(here, {"a": "x"}))
    left = sorted(path.name for path in there.glob(f"{INCOMING}*"))
    assert left == [f"{INCOMING}fresh", f"{INCOMING}going-on", f"{INCOMING}link"]


def shim(folder: Path, name: str, script: str) -> None:
    """A program in front of the others on the PATH of pods."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


FAILURES = {
    "full": (
        "tar: files/a: Cannot write: No space left on device",
        DevctlError,
        "the home is full: No space left",
    ),
    "nearly full": (
        "tar: files/a: Wrote only 512 of 10240 bytes",
        DevctlError,
        "the home is full: there is room for a part only; nothing was changed",
    ),
    "quota": ("tar: files/a: Cannot write: Disk quota exceeded", DevctlError, "quota exceeded"),
    "read-only": ("mkdir: cannot: Read-only file system", DevctlError, "Read-only file system"),
    "denied": ("tar: files/a: Cannot open: Permission denied", DeniedError, "Permission denied"),
    "other": ("tar: Something\x1b[31m else", DevctlError, r"Something\\x1b\[31m else"),
    "nothing": ("", DevctlError, "failed without a message"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_pod_that_cannot_take_files_says_why_and_loses_nothing(
    failure: str, here: Path, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, kind, message = FAILURES[failure]
    shim(tmp_path / "bin", "tar", f"printf '%s\\n' '{said}' >&2; exit 2" if said else "exit 2")
    pods(monkeypatch, tmp_path / "pods", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    write(there, {"a": "old"})
    names = write(here, {"a": "x" * 3_000_000})
    with pytest.raises(kind, match=message) as raised:
        give(here, *names)
    assert raised.value.fix
    assert tree(there) == {"a": b"old"}
    assert not list(there.glob(f"{INCOMING}*"))


@pytest.mark.parametrize(
    ("path", "what", "fix"),
    [
        ("/home/dev", "the home", "delete files there, or raise spec.persistentHomeSize"),
        ("/home/dev/a", "the home", "delete files there, or raise spec.persistentHomeSize"),
        ("/shared/a", "the volume", "delete files there, or copy to a place below /home/dev"),
        ("/home/developer", "the volume", "delete files there, or copy to a place below /home/dev"),
    ],
)
def test_which_volume_is_full_and_what_to_do(path: str, what: str, fix: str) -> None:
    error = scripts.failure(place(path), ["files/a: Cannot write: No space left on device"])
    said = f"{what} is full: No space left on device; nothing was changed"
    assert error.message == f"`lab-0:{path}`: {said}"
    assert error.fix == fix


def test_a_disk_that_is_really_full(here: Path, there: Path) -> None:
    """A limit on the size of files is what a test can have of it without mounting anything."""
    write(there, {"a": "old"})
    names = write(here, {"a": "x" * 3_000_000})
    limited = scripts.RECEIVE.replace("top=$PWD\n", "top=$PWD; ulimit -f 1000; trap '' XFSZ\n")
    assert limited != scripts.RECEIVE
    entries = [entry(here, name) for name in names]
    with pytest.raises(DevctlError, match=r"room for a part only|File too large"):
        remote.ask(place(PATH), limited, feed=lambda send: void(pack(send, here, entries, {})))
    assert tree(there) == {"a": b"old"}
    assert not list(there.glob(f"{INCOMING}*"))


@pytest.mark.parametrize("program", ["tar", "xargs"])
def test_an_image_without_a_program_is_told_of(
    program: str, here: Path, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = write(here, {"a": "x"})
    for name in ("sh", "mkdir", "find", "mktemp", "rm", "cat", "tar", "xargs", "stat"):
        found = shutil.which(name)
        assert found
        (tmp_path / "few").mkdir(exist_ok=True)
        if name != program:
            (tmp_path / "few" / name).symlink_to(found)
    pods(monkeypatch, tmp_path / "pods", PATH=str(tmp_path / "few"))
    with pytest.raises(DevctlError, match=f"its image has no `{program}`") as raised:
        give(here, *names)
    assert "install tar in it" in raised.value.fix
    assert tree(there) == {}


def test_places_that_are_not_what_they_should_be(here: Path, there: Path) -> None:
    assert remote.kind(place("/home/dev/p")) == "folder"
    assert remote.kind(place("/home/dev/x")) == "nothing"
    write(there, {"a": "x"})
    assert remote.kind(place("/home/dev/p/a")) == "file"
    with pytest.raises(NotFoundError, match="there is no `lab-0:/home/dev/x`"):
        remote.find(place("/home/dev/x"))
    with pytest.raises(UsageError, match="is not a folder"):
        remote.find(place("/home/dev/p/a"))
    assert remote.look(place("/home/dev/x"), ["a"]) == {}
    with pytest.raises(UsageError, match="is not a folder"):
        remote.receive(place("/home/dev/p/a"), lambda send: void(pack(send, here, [], {})))


def test_files_come_back(here: Path, there: Path) -> None:
    write(there, {"a": "x", "deep/-b\n": "y"})
    os.link(there / "a", there / "hard")
    assert fetched(here, "a", "deep/-b", "hard") == [
        "./deep/-b: Cannot stat: No such file or directory"
    ]
    assert tree(here) == {"a": b"x", "hard": b"x"}


def test_many_names_come_in_several_archives(here: Path, there: Path) -> None:
    names = [f"{number:04}{'x' * 150}" for number in range(1500)]
    write(there, {name: name for name in names})
    assert fetched(here, *names) == []
    assert len(tree(here)) == 1500
    assert len(remote.look(place(PATH), names)) == 1500


def test_a_pod_that_sends_nothing_at_all(
    here: Path, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim(tmp_path / "bin", "tar", "exit 2")
    pods(monkeypatch, tmp_path / "pods", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    write(there, {"a": "x"})
    with pytest.raises(DevctlError, match="failed without a message"):
        fetched(here, "a")


def test_a_pod_that_answers_without_end(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_MOST", 1000)
    monkeypatch.setattr(scripts, "FIND", "yes")
    with pytest.raises(DevctlError, match="answers without end"):
        remote.find(place(PATH))
    assert there.is_dir()


@pytest.mark.parametrize(
    "said", [b"", b"?", b"81a4 1 1 ./b/\n", b"zz 1 1 ./a/\n", b"81a4 -1 1 ./a/\n", b"\xff" * 100]
)
def test_answers_that_make_no_sense_are_none(
    said: bytes, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ask", lambda *_args, **_how: said + b"\0\0")
    assert remote.look(place(PATH), ["a"]) == {}
    assert there.is_dir()


@given(st.binary(max_size=100))
def test_any_answer_is_about_names_that_were_asked_for(said: bytes) -> None:
    first = b"81a4 4 7 ./a/\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "ask", lambda *_args, **_how: said + b"\0\0")
        assert remote.look(place(PATH), ["a", "b"]).keys() <= {"a", "b"}
        found = remote.digests(place(PATH), ["a", "b"])
        assert found.keys() <= {"a", "b"}
        assert all(len(digest) <= 64 for digest in found.values())
        # What follows a good line takes nothing from it.
        patch.setattr(remote, "ask", lambda *_args, **_how: first + said + b"\0\0")
        assert remote.look(place(PATH), ["a", "b"])["a"] == remote.Found(0o100644, 4, 7)


@pytest.mark.parametrize("said", [b"", b"\0", b"./a\0", b"./a"])
def test_an_answer_whose_end_is_missing_is_none(
    said: bytes, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = said.decode().replace("\0", "\\0")
    for name, ask in (
        ("FIND", remote.find),
        ("KIND", remote.kind),
        ("LOOK", lambda place: remote.look(place, ["a"])),
        ("DIGESTS", lambda place: remote.digests(place, ["a"])),
    ):
        fed = "printf +; cat >/dev/null; " if name in {"LOOK", "DIGESTS"} else ""
        monkeypatch.setattr(scripts, name, f"{fed}printf '{written}'")
        with pytest.raises(ConnectionLostError, match="did not arrive as a whole"):
            ask(place(PATH))
    assert there.is_dir()


def test_files_whose_end_is_missing_are_not_taken(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = write(there, {"a": "x", "b": "y"})
    # Without the mark, and cut off between two files.
    cut = scripts.SEND.replace('"$2"', "4").replace("printf '%-512s' .\ncat >/dev/null\n", "")
    assert "cat" not in cut
    monkeypatch.setattr(scripts, "SEND", cut)
    with pytest.raises(DevctlError, match="did not arrive as a whole"):
        fetched(here, *names)


def test_a_pod_ends_once_all_has_come(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(there, {"a": "x" * 100})
    order: list[str] = []
    release, read = Transfer.release, Members.read

    def released(command: Transfer) -> None:
        order.append("released")
        release(command)

    def reading(members: Members) -> Iterator[bytes]:
        for piece in read(members):
            order.append("read")
            yield piece

    monkeypatch.setattr(Transfer, "release", released)
    monkeypatch.setattr(Members, "read", reading)
    fetched(here, "a")
    assert order[:2] == ["read", "released"]


def test_scripts_are_constant_and_plain() -> None:
    for name in ("KIND", "FIND", "LOOK", "DIGESTS", "SEND", "RECEIVE"):
        script = getattr(scripts, name)
        for shell in ("dash", "bash"):
            if shutil.which(shell):
                subprocess.run([shell, "-n", "-c", script], check=True)
