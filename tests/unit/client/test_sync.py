"""A folder that is sent: only what has changed, and nothing over what was changed there."""

from __future__ import annotations

import json
import os
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.files import archive, remote
from devctl.client.files import files as client_files
from devctl.client.files.files import Files, remote_folder, watch
from devctl.client.files.ignore import INCOMING
from devctl.client.files.local import entry
from devctl.client.files.record import Record, folder
from devctl.client.files.sync import Change, Synced, SyncOptions
from devctl.errors import ConnectionLostError, DevctlError, UsageError
from unit.client.objects import NAMESPACE
from unit.client.pods import Cluster, place, pods, tree
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


class Project:
    """A folder here, and the homes of a server of two replicas."""

    def __init__(self, here: Path, above: Path) -> None:
        self.here, self.above = here, above
        cluster: Any = Cluster()
        self.files = Files(cluster)
        self.sent: list[str] = []

    def there(self, replica: int = 0) -> Path:
        return self.above / f"lab-{replica}" / "home" / "dev" / "here"

    def push(self, **options: Any) -> list[Synced]:
        return list(self.files.push("lab", self.here, options=SyncOptions(**options)))

    def changes(self, **options: Any) -> list[str]:
        return [f"{each.what} {each.path}" for each in self.push(**options)[0].changes]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    here = tmp_path / "here"
    (here / "deep").mkdir(parents=True)
    (here / "a.py").write_text("a")
    (here / "deep" / "b.py").write_text("bb")
    above = tmp_path / "pods"
    above.mkdir()
    pods(monkeypatch, above)

    def running(_cluster: object, name: str, replica: int = 0) -> dict[str, Any]:
        pod = f"{name}-{replica}"
        return {"metadata": {"name": pod, "namespace": NAMESPACE, "uid": f"uid-{pod}"}}

    monkeypatch.setattr(client_files, "running_pod", running)
    two: Any = SimpleNamespace(get=lambda _name: SimpleNamespace(size=2))
    monkeypatch.setattr(client_files, "Servers", lambda _cluster: two)
    found = Project(here, above)
    receive = remote.receive

    def counting(place: Any, feed: Any) -> None:
        found.sent.append(place.pod)
        receive(place, feed)

    monkeypatch.setattr(remote, "receive", counting)
    return found


def test_only_changes_are_sent_to_every_replica(project: Project) -> None:
    done = project.push()
    assert [each.summary() for each in done] == [
        "lab-0:/home/dev/here: 2 files, 3 B sent",
        "lab-1:/home/dev/here: 2 files, 3 B sent",
    ]
    assert tree(project.there(0)) == tree(project.there(1)) == tree(project.here)
    assert project.changes() == []
    (project.here / "a.py").write_text("c")
    (project.here / "new.py").write_text("n")
    assert project.changes() == ["changed a.py", "new new.py"]
    assert tree(project.there(1)) == tree(project.here)
    assert sorted(project.sent) == ["lab-0", "lab-0", "lab-1", "lab-1"]


def test_a_change_of_the_same_size_within_a_second_is_sent(project: Project) -> None:
    project.push()
    about = (project.here / "a.py").stat()
    (project.here / "a.py").write_text("z")
    os.utime(project.here / "a.py", ns=(about.st_atime_ns, about.st_mtime_ns // 10**9 * 10**9 + 1))
    assert project.changes() == ["changed a.py"]
    assert tree(project.there()) == tree(project.here)


def test_what_is_only_touched_is_not_sent(project: Project) -> None:
    project.push()
    os.utime(project.here / "a.py", (1, 1))
    assert project.changes() == []
    assert sorted(project.sent) == ["lab-0", "lab-1"]


def test_without_a_record_contents_are_compared(project: Project) -> None:
    project.push()
    for file in folder().iterdir():
        file.write_text("{broken")
    os.utime(project.here / "a.py", (1, 1))
    assert project.changes() == []
    assert len(project.sent) == 2


def test_a_program_becomes_one_there(project: Project) -> None:
    project.push()
    (project.here / "a.py").chmod(0o755)
    assert project.changes() == ["changed a.py"]
    assert (project.there() / "a.py").stat().st_mode & 0o100


def test_links_and_empty_folders_are_sent_once(project: Project) -> None:
    (project.here / "link").symlink_to("a.py")
    (project.here / "empty").mkdir()
    assert len(project.changes()) == 4
    assert project.changes() == []
    (project.here / "link").unlink()
    (project.here / "link").symlink_to("deep/b.py")
    assert project.changes() == ["changed link"]
    assert (project.there() / "link").read_text() == "bb"


def test_what_was_changed_there_is_not_replaced(project: Project) -> None:
    project.push()
    (project.there(1) / "a.py").write_text("theirs")
    (project.here / "a.py").write_text("mine, longer")
    (project.here / "deep" / "b.py").write_text("new")
    with pytest.raises(DevctlError, match=r"`lab-1:.*`a.py` was changed there") as raised:
        project.push()
    assert "--overwrite" in raised.value.fix
    # Nothing was sent to the other one, either.
    assert tree(project.there(0))["deep/b.py"] == b"bb"
    project.push(overwrite=True)
    assert tree(project.there(0)) == tree(project.there(1)) == tree(project.here)


def test_a_file_of_somebody_else_is_not_replaced(project: Project) -> None:
    project.there(0).mkdir(parents=True)
    (project.there(0) / "a.py").write_text("theirs")
    with pytest.raises(DevctlError, match="differs from yours; nothing was sent"):
        project.push()
    assert tree(project.there(0)) == {"a.py": b"theirs"}


def test_what_is_gone_here_goes_there_if_asked(project: Project) -> None:
    project.push()
    (project.there(0) / "results").mkdir()
    (project.there(0) / "results" / "model").write_text("theirs")
    (project.here / "deep" / "b.py").unlink()
    (project.here / "deep").rmdir()
    assert project.changes() == []
    assert project.changes(delete=True, dry_run=True) == ["deleted deep/b.py"]
    assert project.changes(delete=True) == ["deleted deep/b.py"]
    assert tree(project.there(0)) == {"a.py": b"a", "results/model": b"theirs"}
    assert not (project.there(0) / "deep").exists()
    assert project.changes(delete=True) == []


def test_what_was_changed_there_is_not_deleted(project: Project) -> None:
    project.push()
    (project.there(0) / "a.py").write_text("theirs")
    (project.here / "a.py").unlink()
    done = project.push(delete=True)
    assert done[0].left_out == ["`a.py`: it is gone here, but was changed there"]
    assert tree(project.there(0))["a.py"] == b"theirs"
    assert "a.py" not in tree(project.there(1))


def test_what_is_ignored_now_is_not_deleted(project: Project) -> None:
    project.push()
    (project.here / ".gitignore").write_text("deep/\n")
    assert project.changes(delete=True) == ["new .gitignore"]
    assert "deep/b.py" in tree(project.there(0))


def test_a_dry_run_does_nothing(project: Project) -> None:
    done = project.push(dry_run=True)
    assert done[0].summary() == "lab-0:/home/dev/here: 2 files, 3 B would be sent"
    assert not project.there().exists()
    assert project.sent == []


def test_secrets_stay_here(project: Project) -> None:
    (project.here / ".env").write_text("PASSWORD=x")
    done = project.push()
    assert done[0].secrets == [".env"]
    assert ".env" not in tree(project.there())
    assert project.changes(secrets=True) == ["new .env"]
    # One that was sent on purpose is not left out later, for then it would never change.
    assert project.push()[0].secrets == []


def test_a_file_for_a_folder_is_told_of(project: Project) -> None:
    (project.there(0) / "a.py").mkdir(parents=True)
    with pytest.raises(DevctlError, match="a folder there and a file here"):
        project.push(overwrite=True)


def test_one_replica_or_another_folder(project: Project) -> None:
    project.files.push("lab", project.here, "other/x", replica=1)
    assert tree(project.above / "lab-1/home/dev/other/x") == tree(project.here)
    assert not project.there(0).exists()


def test_what_does_not_arrive_is_noticed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "receive", lambda _place, feed: feed(lambda _data: None))
    with pytest.raises(DevctlError, match="is not there as it was sent"):
        project.push()


def test_a_file_that_never_settles_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writing(*arguments: Any, **how: Any) -> list[str]:
        with (project.here / "a.py").open("a") as file:
            file.write("more")
        return archive.pack(*arguments, **how)

    monkeypatch.setattr(remote, "pack", writing)
    done = project.push()
    assert done[0].changed == ["a.py"]
    assert "deep/b.py" in tree(project.there())
    assert "a.py" not in tree(project.there())


def test_what_is_no_folder_is_refused(project: Project, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        project.files.push("lab", project.here / "a.py")
    with pytest.raises(UsageError, match="is not a folder"):
        project.files.push("lab", tmp_path / "missing")
    assert remote_folder(project.here) == "here"
    with pytest.raises(UsageError, match="has no name"):
        remote_folder(tmp_path.joinpath("/"))


def test_nothing_of_a_copy_is_left(project: Project) -> None:
    project.push()
    assert not list(project.there().rglob(f"{INCOMING}*"))


def test_a_record_is_of_two_folders_only(project: Project) -> None:
    project.push()
    one = place("/home/dev/here", "lab-0")
    assert sorted(Record.read(project.here, one).files) == ["a.py", "deep/b.py"]
    assert Record.read(project.here, place("/home/dev/x", "lab-0")).files == {}
    assert Record.read(project.here / "deep", one).files == {}
    kept = Record.read(project.here, one)
    odd = "\udcff\n"
    kept.files[odd] = kept.files["a.py"]
    kept.write()
    assert odd in Record.read(project.here, one).files
    assert kept.is_here(entry(project.here, "a.py")._replace(path=odd))


def test_replicas_are_sent_to_at_the_same_time(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, receive = threading.Barrier(2, timeout=PATIENCE), remote.receive
    moved: list[int] = []

    def meet(place: Any, feed: Any) -> None:
        together.wait()
        receive(place, feed)

    monkeypatch.setattr(remote, "receive", meet)
    done = project.files.push("lab", project.here, moved=moved.append)
    assert [each.target for each in done] == ["lab-0:/home/dev/here", "lab-1:/home/dev/here"]
    assert tree(project.there(0)) == tree(project.there(1)) == tree(project.here)
    assert sum(moved) > 0


def test_nothing_is_sent_to_any_replica_while_one_has_no_room(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms, room = {"lab-1": 0}, remote.room
    assert (room(place("/home/dev/no/such/folder")) or 0) > 1 << 20
    monkeypatch.setattr(remote, "room", lambda place: rooms.get(place.pod))
    message = r"`lab-1:/home/dev/here`: the home is full: .* to send, 0 B free; nothing was changed"
    with pytest.raises(DevctlError, match=message):
        project.push()
    assert project.sent == []
    rooms.clear()
    assert len(project.push()) == 2


def test_what_replicas_share_is_sent_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shared(_cluster: object, pod: dict[str, Any], path: str) -> str:
        return "shared" if path.startswith("/shared") else pod["metadata"]["uid"]

    monkeypatch.setattr(client_files, "volume_of", shared)
    [done] = project.files.push("lab", project.here, "/shared/here")
    assert (done.target, project.sent) == ("lab-0:/shared/here", ["lab-0"])
    assert len(project.push()) == 2


def test_a_record_is_of_one_volume(project: Project) -> None:
    project.push()
    one = place("/home/dev/here", "lab-0")
    assert Record.read(project.here, one._replace(pod="made-again-0")).files
    assert Record.read(project.here, one._replace(volume="another")).files == {}
    kept = Record.read(project.here, one._replace(volume=""))
    kept.write()
    assert Record.read(project.here, one._replace(volume="")).files == {}


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "a//b", "."])
def test_a_record_with_names_that_lead_elsewhere_is_of_no_use(name: str, project: Project) -> None:
    project.push()
    kept = Record.read(project.here, place("/home/dev/here", "lab-0"))
    kept.files[name] = kept.files["a.py"]
    kept.write()
    assert name not in Record.read(project.here, place("/home/dev/here", "lab-0")).files


@pytest.mark.parametrize("how", ["version", "about", "files"])
def test_a_record_of_an_older_release_or_a_broken_one_is_none(how: str, project: Project) -> None:
    project.push()
    for file in folder().glob("*.json"):
        kept = json.loads(file.read_text())
        kept[how] = {"version": 1, "about": kept["about"][:-1], "files": {"a.py": "x"}}[how]
        file.write_text(json.dumps(kept))
    assert Record.read(project.here, place("/home/dev/here", "lab-0")).files == {}


def test_a_record_that_cannot_be_kept(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(DevctlError, match="cannot keep"):
        project.push()


def test_a_large_tree_takes_no_more_commands_in_the_pod_than_a_small_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer: Any = vars(remote)["transfer"]
    commands: list[str] = []

    def counted(place: Any, *words: Any, **options: Any) -> Any:
        commands.append(place.pod)
        return transfer(place, *words, **options)

    monkeypatch.setattr(remote, "transfer", counted)

    def twice(replica: int) -> list[int]:
        counts = []
        for _ in range(2):
            commands.clear()
            [done] = project.files.push("lab", project.here, replica=replica)
            counts.append(len(commands))
        assert done.changes == []
        return counts

    small = twice(0)
    for number in range(2000):
        (project.here / "deep" / f"{number}.txt").write_text(str(number))
    assert twice(1) == small
    assert tree(project.there(1)) == tree(project.here)


class Enough(Exception):  # noqa: N818 - ends an endless loop
    pass


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long a folder was not looked at, without the wait."""
    found: list[float] = []
    monkeypatch.setattr(client_files, "wait", found.append)
    return found


def test_watching_asks_the_server_only_where_something_has_changed(slept: list[float]) -> None:
    looks = iter([1, 1, 2, 2, 2])
    asked: list[int] = []

    def once() -> list[Synced]:
        asked.append(1)
        # A file that changed while it was read is tried again.
        return [Synced("x", changed=["a"] if len(asked) == 2 else [])]

    def glance() -> int:
        for look in looks:
            return look
        raise Enough

    with pytest.raises(Enough):
        list(watch(once, glance))
    assert len(asked) == 3
    assert slept == [1.0] * 5


def test_watching_goes_on_when_a_connection_comes_back(slept: list[float]) -> None:
    outcomes: list[Any] = [[Synced("x")], ConnectionLostError("lost"), [Synced("y")], Enough()]
    lost: list[str] = []
    seen: list[str] = []

    def once() -> list[Synced]:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return list(outcome)

    def see() -> None:
        for done in watch(once, None, lambda error: lost.append(str(error))):
            seen.append(done[0].target)  # noqa: PERF401 - it ends with an exception

    with pytest.raises(Enough):
        see()
    assert (seen, lost) == (["x", "y"], ["lost"])
    assert slept == [3.0, 5.0, 3.0]


def test_watching_what_cannot_be_reached_at_first_is_an_error() -> None:
    def once() -> list[Synced]:
        raise ConnectionLostError("no")

    with pytest.raises(ConnectionLostError):
        list(watch(once))


def test_a_summary_of_deletions() -> None:
    changes = [Change("deleted", "a"), Change("new", "b", 1)]
    assert Synced("x", changes).summary() == "x: 1 file, 1 B sent, 1 deleted"
    dry = Synced("x", changes, dry_run=True)
    assert dry.summary() == "x: 1 file, 1 B would be sent, 1 would be deleted"
