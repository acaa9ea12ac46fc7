"""A folder that is brought here: what belongs to it, and nothing over what was changed here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.files import incoming, remote, scripts, sync
from devctl.client.files.names import Withheld
from devctl.client.files.record import Record
from devctl.client.files.sync import Synced, SyncOptions
from devctl.client.files.sync import pull as bring
from devctl.errors import DevctlError, HostError, NotFoundError, UsageError
from unit.client.pods import place, pods, tree

if TYPE_CHECKING:
    from pathlib import Path

PATH = "/home/dev/p"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pods(monkeypatch, tmp_path / "pods")
    folder = tmp_path / "pods" / "lab-0" / "home" / "dev" / "p"
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_text("a")
    (folder / "deep" / "b").write_text("bb")
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "here"


def get(here: Path, **options: Any) -> Synced:
    return bring(place(PATH), here, SyncOptions(**options))


def send(here: Path, **options: Any) -> Synced:
    how = SyncOptions(**options)
    record = Record.read(here, place(PATH))
    return sync.push(sync.plan(place(PATH), sync.choose(here, how), record, how))


def changes(done: Synced) -> list[str]:
    return [f"{each.what} {each.path}" for each in done.changes]


def test_only_changes_come(here: Path, there: Path) -> None:
    assert get(here).summary().endswith("2 files, 3 B brought")
    assert tree(here) == tree(there)
    assert changes(get(here)) == []
    (there / "a").write_text("changed")
    (there / "new").write_text("n")
    assert changes(get(here)) == ["changed a", "new new"]
    assert tree(here) == tree(there)
    assert (here / "a").stat().st_mtime == int((there / "a").stat().st_mtime)


def test_both_ways_in_turn(here: Path, there: Path) -> None:
    get(here)
    (here / "a").write_text("from here")
    assert changes(send(here)) == ["changed a"]
    assert changes(get(here)) == []
    (there / "a").write_text("from there!")
    assert changes(get(here)) == ["changed a"]
    assert changes(send(here)) == []
    assert tree(here) == tree(there)


def test_what_was_changed_here_is_not_replaced(here: Path, there: Path) -> None:
    get(here)
    (here / "a").write_text("mine")
    (there / "a").write_text("theirs")
    (there / "deep" / "b").write_text("newer")
    with pytest.raises(DevctlError, match="`a` was changed here, and differs"):
        get(here)
    assert tree(here) == {"a": b"mine", "deep/b": b"bb"}
    get(here, overwrite=True)
    assert tree(here) == tree(there)


def test_what_was_here_before_is_not_replaced(here: Path, there: Path) -> None:
    here.mkdir()
    (here / "a").write_text("mine")
    with pytest.raises(DevctlError, match="`a` was changed here"):
        get(here)
    assert tree(here) == {"a": b"mine"}
    (here / "a").write_text("a")
    os.utime(here / "a", (1, 1))
    assert changes(get(here)) == ["new deep/b"]
    assert there.is_dir()


def meanwhile(monkeypatch: pytest.MonkeyPatch, file: Path, typed: str) -> None:
    """Have somebody write to a file here while files are fetched."""
    fetch = remote.fetch

    def slow(*arguments: Any) -> list[str]:
        file.write_text(typed)
        return fetch(*arguments)

    monkeypatch.setattr(remote, "fetch", slow)


# Of the size that it had, too: an edit shows in the time of its change alone.
TYPED = pytest.mark.parametrize("typed", ["typed just now", "t"])


@TYPED
def test_what_is_written_to_meanwhile_is_not_replaced(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    get(here)
    (there / "a").write_text("theirs")
    meanwhile(monkeypatch, here / "a", typed)
    with pytest.raises(DevctlError, match="`a` would be replaced"):
        get(here)
    assert tree(here)["a"] == typed.encode()


@TYPED
def test_what_is_written_to_meanwhile_is_not_deleted(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    get(here)
    (there / "a").unlink()
    (there / "new").write_text("n")
    meanwhile(monkeypatch, here / "a", typed)
    get(here, delete=True)
    assert tree(here)["a"] == typed.encode()


def test_the_rules_here_say_what_belongs_to_it(here: Path, there: Path) -> None:
    here.mkdir()
    (here / ".gitignore").write_text("*.log\n")
    (there / "run.log").write_text("x")
    (there / "__pycache__").mkdir()
    (there / "__pycache__" / "a.pyc").write_text("x")
    (there / ".git" / "hooks").mkdir(parents=True)
    (there / ".git" / "hooks" / "post-checkout").write_text("evil")
    (there / "deep" / ".GIT").mkdir()
    (there / "deep" / ".GIT" / "config").write_text("evil")
    (there / "venv" / "x" / ".git").mkdir(parents=True)
    (there / "venv" / "x" / ".git" / "config").write_text("of what is ignored")
    assert get(here).git == Withheld(2, (".git", "deep/.GIT"))
    assert sorted(tree(here)) == [".gitignore", "a", "deep/b"]


def test_what_we_do_not_take_is_told_of(here: Path, there: Path) -> None:
    (there / "bad\nname").touch()
    (there / os.fsdecode(b"\xff")).touch()
    (there / "out").symlink_to("/etc")
    os.mkfifo(there / "pipe")
    (there / "link").symlink_to("deep/b")
    done = get(here)
    assert sorted(line.partition(":")[0] for line in done.left_out) == [
        "`\\xff`",
        "`bad\\nname`",
        "`out`",
    ]
    assert changes(done) == ["new a", "new deep/b", "new link"]
    assert (here / "link").read_text() == "bb"
    assert get(here).changes == []


def test_what_is_gone_there_goes_here_if_asked(here: Path, there: Path) -> None:
    get(here)
    (here / "mine").write_text("never synced")
    (there / "deep" / "b").unlink()
    assert changes(get(here)) == []
    assert changes(get(here, delete=True, dry_run=True)) == ["deleted deep/b"]
    assert changes(get(here, delete=True)) == ["deleted deep/b"]
    assert tree(here) == {"a": b"a", "mine": b"never synced"}
    assert not (here / "deep").exists()


def test_what_was_changed_here_is_not_deleted(here: Path, there: Path) -> None:
    get(here)
    (here / "a").write_text("mine")
    (there / "a").unlink()
    done = get(here, delete=True)
    assert done.left_out == ["`a`: it is gone there, but was changed here"]
    assert tree(here)["a"] == b"mine"


def test_nothing_is_deleted_while_a_folder_cannot_be_looked_into(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get(here)
    said = "printf './a\\0\\0\\0'; echo 'find: ./deep: Permission denied' >&2"
    monkeypatch.setattr(scripts, "FIND", said)
    done = get(here, delete=True)
    assert done.left_out == ["./deep: Permission denied"]
    assert sorted(tree(here)) == ["a", "deep/b"]
    assert there.is_dir()


def test_a_file_that_cannot_be_read_does_not_keep_the_others(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = scripts.SEND.replace("head -c", "rm a; head -c")
    assert unreadable != scripts.SEND
    monkeypatch.setattr(scripts, "SEND", unreadable)
    done = get(here)
    assert tree(here) == {"deep/b": b"bb"}
    assert changes(done) == ["new deep/b"]
    assert done.left_out == ["./a: Cannot stat: No such file or directory"]
    assert there.is_dir()


def test_no_link_here_is_written_through(here: Path, there: Path, tmp_path: Path) -> None:
    here.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (here / "deep").symlink_to(elsewhere)
    with pytest.raises(DevctlError, match="is a link or a file here"):
        get(here, overwrite=True)
    assert tree(elsewhere) == {}
    assert there.is_dir()


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
def test_names_that_no_honest_pod_tells_end_it(
    name: str, here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "FIND", f"printf '{name}\\0\\0\\0'")
    with pytest.raises(DevctlError, match="leads out of the folder"):
        get(here)
    assert not here.exists()
    assert there.is_dir()


def test_what_has_no_room_is_not_asked_for(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "room", lambda _target: 1)
    with pytest.raises(HostError, match="there is room for 1 B here"):
        get(here)
    assert tree(here) == {}
    monkeypatch.setattr(remote, "MEMBERS", 1)
    with pytest.raises(DevctlError, match="more than 1 files"):
        get(here)
    assert there.is_dir()


def test_folders_that_are_none(here: Path, there: Path) -> None:
    here.write_text("file")
    with pytest.raises(UsageError, match="is not a folder"):
        get(here)
    with pytest.raises(NotFoundError, match="there is no `lab-0:/home/dev/x`"):
        bring(place("/home/dev/x"), here.with_name("other"), SyncOptions())
    assert there.is_dir()
