"""`cp` to a server and from it."""

from __future__ import annotations

import doctest
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.files import copy, incoming, scripts
from devctl.client.files import files as client_files
from devctl.client.files.copy import There, parse
from devctl.client.files.files import Files
from devctl.client.files.ignore import INCOMING
from devctl.errors import DevctlError, HostError, NotFoundError, UsageError
from unit.client.objects import NAMESPACE
from unit.client.pods import Cluster, pods, tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    pods(monkeypatch, tmp_path / "pods")

    def running(_cluster: object, name: str, replica: int = 0) -> dict[str, Any]:
        return {"metadata": {"name": f"{name}-{replica}", "namespace": NAMESPACE}}

    monkeypatch.setattr(client_files, "running_pod", running)
    monkeypatch.chdir(tmp_path)
    cluster: Any = Cluster()
    return Files(cluster)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "pods" / "lab-0" / "home" / "dev"
    folder.mkdir(parents=True)
    return folder


def test_examples() -> None:
    assert doctest.testmod(copy).failed == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lab:a", There("lab", 0, "a")),
        ("lab:", There("lab", 0, "")),
        ("lab.12:/a:b", There("lab", 12, "/a:b")),
        ("a", None),
        ("./lab:a", None),
        ("/x/lab:a", None),
        ("", None),
    ],
)
def test_places(text: str, found: There | None) -> None:
    assert parse(text) == found


@pytest.mark.parametrize("text", ["Lab:a", "-x:a", ":a", "lab.x:a", "a\x1b:b", "lab.:a"])
def test_places_that_are_none(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert raised.value.message.isprintable()
    assert "./" in raised.value.fix


@given(st.text(max_size=30))
def test_any_argument_is_here_there_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except UsageError:
        return
    if found is not None:
        assert text.endswith(f":{found.path}")


@pytest.mark.parametrize(
    ("target", "arrives"),
    [
        ("lab:", "a.txt"),
        ("lab:b.txt", "b.txt"),
        ("lab:there", "there/a.txt"),
        ("lab:there/", "there/a.txt"),
        ("lab:new/", "new/a.txt"),
        ("lab:new/deep/b", "new/deep/b"),
        ("lab:/home/dev/$(x) '", "$(x) '"),
        ("lab:~/b", "b"),
    ],
)
def test_a_file_goes_where_cp_would_put_it(
    target: str, arrives: str, files: Files, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    (home / "there").mkdir()
    done = files.copy("a.txt", target)
    assert tree(home) == {arrives: b"x"}
    assert done.summary() == f"lab-0:/home/dev/{arrives}: 1 file, 1 B"


def test_a_file_there_is_replaced(files: Files, home: Path, tmp_path: Path) -> None:
    (home / "a").write_text("old")
    (tmp_path / "a").write_text("new")
    files.copy("a", "lab:")
    assert tree(home) == {"a": b"new"}
    assert not list(home.glob(f"{INCOMING}*"))


def test_a_link_that_is_named_is_followed(files: Files, home: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    files.copy("link", "lab:")
    assert tree(home) == {"link": b"x"}


@pytest.mark.parametrize(
    ("source", "target", "arrives"),
    [
        ("data", "lab:", "data"),
        ("data", "lab:new", "new"),
        ("data", "lab:there", "there/data"),
        ("data/", "lab:there", "there/data"),
        (".", "lab:x/y", "x/y/data"),
        ("data/deep/..", "lab:new", "new"),
    ],
)
def test_a_folder_goes_where_cp_would_put_it(  # noqa: PLR0913, PLR0917 - three are fixtures
    source: str, target: str, arrives: str, files: Files, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "empty").mkdir()
    (tmp_path / "data" / "deep" / "b.pyc").write_text("by-products too")
    (home / "there").mkdir()
    files.copy(source, target)
    assert tree(home)[f"{arrives}/deep/b.pyc"] == b"by-products too"
    assert (home / arrives / "empty").is_dir()


def test_secrets_in_a_folder_stay_and_a_named_one_goes(
    files: Files, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".env").write_text("x")
    (tmp_path / "data" / "a").write_text("x")
    done = files.copy("data", "lab:one")
    assert done.secrets == [".env"]
    files.copy("data", "lab:two", secrets=True)
    files.copy("data/.env", "lab:")
    assert sorted(tree(home)) == [".env", "one/a", "two/.env", "two/a"]


def test_what_cannot_be_sent_changes_nothing(files: Files, home: Path, tmp_path: Path) -> None:
    (home / "file").write_text("x")
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data" / "pipe")
    with pytest.raises(DevctlError, match="nothing was sent: `pipe`"):
        files.copy("data", "lab:")
    with pytest.raises(NotFoundError, match="there is no `missing`"):
        files.copy("missing", "lab:")
    (tmp_path / "data" / "pipe").unlink()
    with pytest.raises(UsageError, match="is a file"):
        files.copy("data", "lab:file")
    (home / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a").write_text("x")
    with pytest.raises(DevctlError, match="`a` is a folder there"):
        files.copy("data", "lab:")
    assert tree(home) == {"file": b"x"}


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("lab:a", "lab:b")])
def test_one_of_both_is_in_a_server(source: str, target: str, files: Files) -> None:
    with pytest.raises(UsageError, match="exactly one side has to be in a server"):
        files.copy(source, target)


@pytest.mark.parametrize(
    ("target", "arrives"), [(".", "a.txt"), ("b.txt", "b.txt"), ("data", "data/a.txt")]
)
def test_a_file_comes_where_cp_would_put_it(
    target: str, arrives: str, files: Files, home: Path, tmp_path: Path
) -> None:
    (home / "a.txt").write_text("new")
    (tmp_path / "data").mkdir()
    (tmp_path / arrives).write_text("old")
    done = files.copy("lab:a.txt", target)
    assert (tmp_path / arrives).read_text() == "new"
    assert (done.files, done.size) == (1, 3)
    assert not list(tmp_path.rglob(f"{INCOMING}*"))


def test_a_folder_comes_and_replaces_nothing(files: Files, home: Path, tmp_path: Path) -> None:
    (home / "runs" / "empty").mkdir(parents=True)
    (home / "runs" / "model").write_text("theirs")
    (home / "runs" / "out").symlink_to("/etc")
    done = files.copy("lab:runs", ".")
    assert tree(tmp_path / "runs") == {"model": b"theirs"}
    assert (tmp_path / "runs" / "empty").is_dir()
    assert done.left_out == ["`out`: this link leads out of the folder"]
    (tmp_path / "runs" / "model").write_text("mine")
    with pytest.raises(DevctlError, match="`model` would be replaced") as raised:
        files.copy("lab:runs", ".")
    assert "--overwrite" in raised.value.fix
    assert tree(tmp_path / "runs") == {"model": b"mine"}
    files.copy("lab:runs", ".", overwrite=True)
    assert tree(tmp_path / "runs") == {"model": b"theirs"}
    files.copy("lab:runs", "another")
    assert tree(tmp_path / "another") == {"model": b"theirs"}


def test_a_folder_that_does_not_come_is_not_made(
    files: Files, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "runs").mkdir()
    (home / "runs" / "model").write_text("x" * 100)
    with monkeypatch.context() as patch:
        patch.setattr(incoming, "room", lambda _target: 10)
        with pytest.raises(HostError, match="there is room for 10 B here"):
            files.copy("lab:runs", "mine")
    assert not (tmp_path / "mine").exists()
    files.copy("lab:runs", "mine")
    assert tree(tmp_path / "mine") == {"model": b"x" * 100}


def test_what_cannot_be_brought(files: Files, home: Path, tmp_path: Path) -> None:
    (home / "a").write_text("x")
    (home / "link").symlink_to("a")
    (home / "runs").mkdir()
    (tmp_path / "runs").write_text("mine")
    (tmp_path / "into" / "a").mkdir(parents=True)
    with pytest.raises(NotFoundError, match="there is no `lab-0:/home/dev/x`"):
        files.copy("lab:x", ".")
    with pytest.raises(UsageError, match="is a link"):
        files.copy("lab:link", ".")
    with pytest.raises(UsageError, match="`runs` is not a folder"):
        files.copy("lab:runs", ".")
    with pytest.raises(UsageError, match="is a folder"):
        files.copy("lab:a", "into")
    with pytest.raises(NotFoundError, match="there is no folder"):
        files.copy("lab:a", "missing/a")
    with pytest.raises(UsageError, match="there is no folder"):
        files.copy("lab:a", "missing/")
    with pytest.raises(UsageError, match="holds control characters"):
        files.copy("lab:a\x1b", ".")
    assert (tmp_path / "runs").read_text() == "mine"


def test_a_pod_that_sends_a_link_for_a_file(
    files: Files, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "a").write_text("x")
    evil = scripts.SEND.replace("head -c", "rm a; ln -s b a; head -c")
    monkeypatch.setattr(scripts, "SEND", evil)
    with pytest.raises(DevctlError, match="`a` was not sent"):
        files.copy("lab:a", ".")
    assert not (tmp_path / "a").is_symlink()
    assert not list(tmp_path.glob(f"{INCOMING}*"))


class Told:
    """What is told of a transfer: what was expected, and what moved."""

    def __init__(self) -> None:
        self.expected = self.moved = 0

    def expect(self, count: int) -> None:
        assert not self.moved
        self.expected += count

    def __call__(self, count: int) -> None:
        self.moved += count


def test_the_total_is_known_before_anything_moves(files: Files, home: Path, tmp_path: Path) -> None:
    for folder in (home / "data", tmp_path / "mine"):
        folder.mkdir()
        (folder / "a").write_text("x" * 5000)
        (folder / "b").write_text("y")
    (home / "one").write_text("z" * 700)
    (tmp_path / "to").mkdir()
    for source, target in (("lab:data", "to"), ("lab:one", "to/one"), ("mine", "lab:")):
        told = Told()
        files.copy(source, target, moved=told)
        assert told.expected
        # An archive ends with blocks of its own, up to 10 KiB.
        assert told.expected <= told.moved <= told.expected + 10240
