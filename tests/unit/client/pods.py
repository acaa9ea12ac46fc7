"""Pods for tests: commands in them run here, and folders of this machine are their files."""

from __future__ import annotations

import os
import selectors
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from devctl.client.files import remote as files_remote
from devctl.client.files.remote import Place
from devctl.client.files.transfer import Transfer
from devctl.errors import ConnectionLostError
from devctl.kube.pod_streams import STDERR, STDOUT
from unit.client.objects import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

_PIECE = 65536


class Cluster:
    """What a place needs to know of its cluster."""

    server = "https://cluster.example"
    namespace = NAMESPACE


class LocalStream:
    """A command on this machine, as devctl.kube.pod_streams.ExecStream has one in a pod."""

    def __init__(self, argv: list[str], cwd: Path, *, stdin: bool, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=os.environ | env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def write(self, data: bytes) -> None:
        pipe: Any = self._process.stdin
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[pipe.write(rest) :]
        except (OSError, ValueError) as error:
            raise ConnectionLostError("the command reads no more") from error

    def close_stdin(self) -> None:
        pipe: Any = self._process.stdin
        pipe.close()

    def read(self) -> Iterator[tuple[int, bytes]]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ, STDOUT)  # type: ignore[arg-type]
            selector.register(self._process.stderr, selectors.EVENT_READ, STDERR)  # type: ignore[arg-type]
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, _PIECE)
                    if data:
                        yield key.data, data
                    else:
                        selector.unregister(key.fileobj)
        self._process.wait()

    @property
    def exit_code(self) -> int:
        return self._process.returncode

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()


class Command(Transfer):
    """A command of a pod that runs here, in a folder."""

    def __init__(
        self,
        argv: list[str],
        feed: Any,
        root: Path,
        env: dict[str, str] | None = None,
        *,
        held: bool = False,
    ) -> None:
        self.local = LocalStream(argv, root, stdin=feed is not None, env=env or {})
        stream: Any = self.local
        super().__init__(stream, feed, held=held)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from super().__iter__()
        finally:
            self.local.close()


def pods(monkeypatch: pytest.MonkeyPatch, above: Path, **env: str) -> None:
    """Commands in pods run here; each pod's files are in the folder of its name below one.

    Args:
        monkeypatch: Of pytest.
        above: The folder.
        env: Variables of the commands.
    """

    @contextmanager
    def local(
        place: Place, script: str, *arguments: str, feed: Any = None, held: bool = False
    ) -> Iterator[Command]:
        assert place.container
        root = above / place.pod
        root.mkdir(exist_ok=True)
        argv = ["sh", "-c", script, "devctl", f"{root}{place.path}", *arguments]
        command = Command(argv, feed, root, env, held=held)
        try:
            yield command
        finally:
            command.release()
            command.local.close()

    monkeypatch.setattr(files_remote, "transfer", local)


def place(path: str = "/home/dev/p", pod: str = "lab-0") -> Place:
    """A place in such a pod, on a volume of its own."""
    cluster: Any = Cluster()
    return Place(cluster, NAMESPACE, pod, path, f"uid-{pod}")


def tree(root: Path) -> dict[str, bytes]:
    """What regular files below a folder hold."""
    return {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in root.rglob("*")
        if file.is_file() and not file.is_symlink()
    }
