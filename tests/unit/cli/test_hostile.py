"""Pods that wish us ill, a thousand cases in all: whatever they tell, send and print.

Nothing is written outside of the folder that files are for, no git repository arrives, and no
control sequence reaches the terminal but colours.
"""

from __future__ import annotations

import io
import os
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.__main__ import main
from devctl.cli.program import _code
from devctl.cli.run_screen import see_it_through
from devctl.client.files import remote
from devctl.client.files.remote import Found
from devctl.client.runs import place as runs_place
from devctl.client.runs.events import Ended, Lost, Noticed, Printed
from devctl.client.runs.place import Place
from devctl.client.runs.record import Record, Run
from unit.cli.conftest import Tty
from unit.cli.egpu_program import egpu, there
from unit.cli.file_things import lab
from unit.client.fake_streams import STDERR, STDOUT, FakeStream
from unit.client.job_things import CLAIMS, claim
from unit.client.objects import EVENTS, SERVERS, event, server
from unit.client.tars import info, link, tar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.cli.egpu_program import Egpu
    from unit.cli.file_things import Homes
    from unit.client.fake_cluster import FakeApi

__all__ = ["egpu", "lab", "there"]

CASES = {
    "cp": 200,
    "sync": 200,
    "artifacts": 150,
    "logs": 150,
    "describe": 150,
    "a run of 1": 75,
    "a run of 2": 75,
}

COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
# What is of git is left out on purpose.
TROUBLE = re.compile(r"(?:^|\x1b\[K)(?:error: |left out: (?!\d+ files? of git))", re.MULTILINE)
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
EVIL = [
    "\x1b]52;c;bHMK\x07",
    "\x1b[2J",
    "\x9b2J",
    "\x1bP0q\x1b\\",
    "\x1b",
    "\x07",
    "\r",
    "\n",
    "\x00",
]

GIT = [".git", ".GIT", "git~1", ".git. ", ".g\u200cit", ".git::x", "b\\.git", "HEAD", "head"]
BARE = ["objects", "refs", "commondir", "config", "hooks"]
PARTS = st.sampled_from([*GIT, *BARE, "a", "b", "-rf", "$(id)", "*", "a\\b", "ü", "a b", ".x"])
ODD = st.sampled_from(["..", ".", "", "\udcff", ".devctl-incoming.x", *EVIL]) | st.text(max_size=4)
NAMES = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
ODD_NAMES = st.lists(PARTS | ODD, min_size=1, max_size=4).map("/".join)
TARGETS = st.sampled_from(
    ["a", "../a", "/etc", "../../..", ".git", "HEAD", "", "a/../../x", "\x1b"]
)
KINDS = st.sampled_from(["file", "file", "file", "link", "hard link", "folder", "device"])
CONTENT = st.binary(max_size=20)
TEXT = st.lists(st.sampled_from([*EVIL, "word", " ", "`"]) | st.text(max_size=5)).map("".join)
OUTPUT = st.lists(
    st.sampled_from([text.encode() for text in EVIL]) | st.sampled_from([b"\x1b[31m", b"line\n"])
    | st.binary(max_size=12)
)  # fmt: skip


def cases(of: str) -> Callable[[Any], Any]:
    """How many are tried."""
    fixtures = [HealthCheck.function_scoped_fixture]
    return settings(max_examples=CASES[of], suppress_health_check=fixtures)


class Pod:
    """What a pod tells of its files, and what it sends."""

    def __init__(self, names: list[str], sends: list[tuple[str, str, str, bytes]]) -> None:
        # A NUL ends a name.
        self.names = [name.replace("\0", "") for name in names]
        self.sends = sends

    def find(self, _place: Any) -> tuple[list[str], list[str]]:
        folders = {name[:at] for name in self.names for at, c in enumerate(name) if c == "/" and at}
        return sorted({*self.names, *folders}), []

    def look(self, _place: Any, names: list[str]) -> dict[str, Found]:
        folders = {name.rpartition("/")[0] for name in self.find(None)[0]}
        modes = {name: stat.S_IFDIR if name in folders else stat.S_IFREG for name in names}
        return {name: Found(modes[name] | 0o777, 4, 1) for name in modes}

    def fetch(
        self, _place: Any, names: list[str], take: Callable[[Iterator[bytes]], None]
    ) -> list[str]:
        # It sends what it was asked for, in other shapes now and then, and more than that.
        shapes = dict(zip(names, self.sends, strict=False))
        members = [
            self._member(name, *shapes.get(name, ("", "file", "", b"x"))[1:]) for name in names
        ]
        members += [self._member(*each) for each in self.sends[len(names) :]]
        take(iter([tar(*members), b".".ljust(512)]))
        return []

    @staticmethod
    def _member(name: str, kind: str, target: str, content: bytes) -> Any:
        if kind == "file":
            return name, content
        if kind in {"link", "hard link"}:
            return link(name, target, tarfile.SYMTYPE if kind == "link" else tarfile.LNKTYPE)
        return info(name, type=tarfile.DIRTYPE if kind == "folder" else tarfile.CHRTYPE)


PODS = st.builds(
    Pod,
    st.lists(NAMES, max_size=8) | st.lists(NAMES | ODD_NAMES, max_size=4),
    st.lists(st.tuples(ODD_NAMES, KINDS, TARGETS, CONTENT), max_size=3),
)


def connect(monkeypatch: pytest.MonkeyPatch, pod: Pod) -> None:
    """Have all pods be this one."""
    for name in ("find", "look", "fetch"):
        monkeypatch.setattr(remote, name, getattr(pod, name))
    monkeypatch.setattr(remote, "kind", lambda _place: "folder")
    monkeypatch.setattr(remote, "digests", lambda *_: {})
    told = b"".join(os.fsencode(name) + b"\0" for name in pod.names)
    monkeypatch.setattr(remote, "answer", lambda *_: told)


def shown(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> str:
    """What a person gets to see on a terminal of something that ends with an exit code."""
    screen = Tty()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        patch.setattr(sys, "stdin", io.StringIO())
        run()
    return screen.written().decode()


def devctl_says(monkeypatch: pytest.MonkeyPatch, program: Callable[[], Any], *line: str) -> str:
    """What a command says on a terminal, and so by its exit code."""
    monkeypatch.setattr(sys, "argv", list(line))
    codes: list[object] = []

    def run() -> None:
        with pytest.raises(SystemExit) as raised:
            program()
        codes.append(raised.value.code)

    said = shown(monkeypatch, run)
    (code,) = codes
    assert code in ({1, 2, 3} if TROUBLE.search(said) else {0}), said
    return said


def assert_harmless(said: str) -> None:
    """See that it holds text and colours, and comes of no mistake of ours."""
    # A line that changes is wiped by devctl itself.
    rest = COLOUR.sub("", said.replace("\r\x1b[K", ""))
    assert not CONTROLS.search(rest)
    assert "report it if" not in rest, rest


def assert_stayed_inside(above: Path, target: Path) -> None:
    """See that nothing outside of a folder has changed, and that no link leads out of it."""
    around = {path.name for path in above.iterdir()}
    assert around <= {target.name, "beside"}
    assert [*(above / "beside").iterdir()] == [above / "beside" / "file"]
    assert (above / "beside" / "file").read_bytes() == b"mine"
    for path in target.rglob("*"):
        if path.is_symlink():
            # Not Path.resolve, which fails where a link leads to itself.
            leads = Path(os.path.realpath(path))
            assert target in {leads, *leads.parents} or not os.path.lexists(leads)


def assert_no_repository(names: list[str]) -> None:
    """See that git itself, on every file system that it knows, would have taken all names."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        both = ["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"]
        words = [word for name in names for word in ("--cacheinfo", f"100644,{'1' * 40},{name}")]
        argv = ["git", *both, "update-index", "--add", "--replace", *words]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)


def arrived(target: Path, so_far: set[str]) -> None:
    """Take note of what is in a folder, and see that nothing of it is a bare repository."""
    for place, folders, files in os.walk(target):
        inside = {*folders, *files}
        assert "HEAD" not in inside or not ({"objects", "refs"} <= inside or "commondir" in inside)
        so_far |= {
            (Path(place) / name).relative_to(target).as_posix() for name in (*folders, *files)
        }


def test_all_cases_are_a_thousand() -> None:
    assert sum(CASES.values()) == 1000


@pytest.mark.parametrize("line", ["cp lab:p .", "sync lab p p --from --delete"])
def test_files_that_come(
    line: str, lab: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lab.home(0).is_dir()
    names: set[str] = set()

    @cases(line.split(maxsplit=1)[0])
    @given(PODS, PODS)
    def come(first: Pod, second: Pod) -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder, chdir(folder):
            above = Path(folder)
            (above / "beside").mkdir()
            (above / "beside" / "file").write_bytes(b"mine")
            # What one has left here is no help to the next.
            for pod in (first, second):
                connect(monkeypatch, pod)
                assert_harmless(devctl_says(monkeypatch, main, "devctl", *line.split()))
                assert_stayed_inside(above, above / "p")
                arrived(above / "p", names)

    come()
    assert names
    assert_no_repository(sorted(names))


def test_artifacts_that_come(
    api: FakeApi, egpu: Egpu, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devctl.cli.egpu.group import main as egpu_main  # noqa: PLC0415

    assert there.is_dir()
    api.add(CLAIMS, claim())
    assert egpu("artifacts", "my-job").code == 0
    names: set[str] = set()

    @cases("artifacts")
    @given(PODS)
    def come(pod: Pod) -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder, chdir(folder):
            above = Path(folder)
            (above / "beside").mkdir()
            (above / "beside" / "file").write_bytes(b"mine")
            connect(monkeypatch, pod)
            for line in ("artifacts my-job", "artifacts my-job --to p"):
                assert_harmless(devctl_says(monkeypatch, egpu_main, "egpu", *line.split()))
            assert_stayed_inside(above, above / "p")
            arrived(above / "p", names)

    come()
    assert names
    assert_no_repository(sorted(names))


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_runs_print(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pods = {rank: {"metadata": {"name": f"lab-{rank}"}} for rank in range(ranks)}
    cluster: Any = None
    place = Place(cluster, "lab", ranks > 1, pods, ranks)
    run = Run(place, "r", {rank: Record("r", "running", None, 0, "", ("x",)) for rank in pods})

    @cases(f"a run of {ranks}")
    @given(OUTPUT, TEXT, st.binary(max_size=40), st.integers(0, 255))
    def print_it(output: list[bytes], text: str, said: bytes, code: int) -> None:
        events = [Noticed(0, text), *(Printed(n % ranks, data) for n, data in enumerate(output))]
        ends = [Lost(0, text, 0.0), *(Ended(rank, code, 1.0) for rank in range(1, ranks))]

        class Following(list[Any]):
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None:
                pass

        def end() -> None:
            follow = SimpleNamespace(follow=lambda *_, **__: Following([*events, *ends]))
            client: Any = SimpleNamespace(runs=follow)
            for step in (
                lambda **_: see_it_through(client, run),
                lambda **_: _raise(place.failure(0, code, said)),
            ):
                command: Any = SimpleNamespace(main=step)
                _code(command, "devctl", "_DEVCTL")

        assert_harmless(shown(monkeypatch, end))

    print_it()


def _raise(error: Exception) -> int:
    raise error


@cases("logs")
@given(OUTPUT, TEXT, TEXT, st.integers())
def test_logs_of_runs(  # noqa: PLR0913, PLR0917 - three are fixtures
    lab: Homes, monkeypatch: pytest.MonkeyPatch, output: list[bytes], name: str, word: str, at: int
) -> None:
    assert lab.home(0).is_dir()
    fields = [
        name.replace("\0", ""),
        "ended",
        "7",
        str(at),
        "/home/dev",
        "1",
        word.replace("\0", ""),
    ]
    listed = "".join(f"{field}\0" for field in fields).encode(errors="replace")

    def open_exec(_cluster: Any, _pod: str, argv: list[str], *_: Any, **__: Any) -> FakeStream:
        if argv[2] == "list":
            return FakeStream([(STDOUT, listed)])
        size = f"size {sum(map(len, output))}\n".encode()
        return FakeStream([(STDERR, size), *((STDOUT, piece) for piece in output)])

    monkeypatch.setattr(runs_place, "open_exec", open_exec)
    for line in ("logs lab", "logs lab --list -o wide", "attach lab"):
        assert_harmless(devctl_says(monkeypatch, main, "devctl", *line.split()))


@cases("describe")
@given(TEXT, TEXT, st.recursive(TEXT | st.integers(), lambda inner: st.dictionaries(TEXT, inner)))
def test_what_objects_say(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, word: str, text: str, more: Any
) -> None:
    thing = server("lab", "Running", reason=word, message=text, replicas=2)
    thing["status"] |= {"phase": word, "startedAt": text, "new": more}
    thing["spec"] |= {"owner": text, "image": word, "flavor": text, "new": more}
    thing["status"]["replicaStatuses"][0] |= {"phase": text, "node": word, "new": more}
    thing["status"]["conditions"].append({"type": "Applied", "status": "False", "message": text})
    api.add(SERVERS, thing)
    api.add(EVENTS, event("DevServer/lab", word, text) | {"type": text})
    for line in ("describe lab", "status", "list -o json"):
        assert_harmless(devctl_says(monkeypatch, main, "devctl", *line.split()))
