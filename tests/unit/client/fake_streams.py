"""Commands and ports of pods, without pods."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from devctl.client.streams.execute import SCRIPT
from devctl.errors import DevctlError
from devctl.kube.pod_streams import STDERR, STDOUT
from unit.client.objects import PODS, SERVERS, Thing, pod, server
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unit.client.fake_cluster import FakeApi

HOST_KEY = "ssh-ed25519 " + "A" * 68


@dataclass
class FakeStream:
    """A command that says some things and ends, or echoes what it is fed."""

    says: list[tuple[int, bytes] | DevctlError] = field(default_factory=list)
    code: int | DevctlError = 0
    echoes: bool = False
    holds: bool = False
    """Whether it goes on until it is closed."""
    sizes: list[tuple[int, int]] = field(default_factory=list)
    fed: bytearray = field(default_factory=bytearray)
    opened: list[tuple[Any, ...]] = field(default_factory=list)
    ends: list[tuple[int, bytes]] = field(default_factory=list)
    """What SCRIPT prints in the end."""
    closed: threading.Event = field(default_factory=threading.Event)
    input_ended: threading.Event = field(default_factory=threading.Event)
    _input: SimpleQueue[bytes] = field(default_factory=SimpleQueue)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(
        self, _cluster: object, name: str, argv: list[str], namespace: str, **how: bool
    ) -> Self:
        """To stand in for `open_exec`; what SCRIPT would start is taken for what was opened."""
        if argv[2:3] == [SCRIPT]:
            key, reads, _, *argv = argv[4:]
            how = {"stdin": reads == "yes", "tty": False}
            ends = f"\0{key}.".encode()
            self.ends = [(STDOUT, ends), (STDERR, ends)]
        self.opened.append((name, list(argv), namespace, how))
        return self

    def write(self, data: bytes) -> None:
        self.fed += data
        self._input.put(bytes(data))

    def close_stdin(self) -> None:
        self.input_ended.set()
        self._input.put(b"")

    def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))

    def read(self) -> Iterator[tuple[int, bytes]]:
        for said in self.says:
            if isinstance(said, DevctlError):
                raise said
            yield said
        while self.echoes and (data := self._input.get()):
            yield STDOUT, data
        if self.holds:
            self.closed.wait(PATIENCE)
        yield from self.ends

    @property
    def exit_code(self) -> int:
        if isinstance(self.code, DevctlError):
            raise self.code
        return self.code

    def close(self) -> None:
        self.closed.set()
        self._input.put(b"")


def runs(name: str = "lab", ordinal: int = 0, container: str = "c1", **state: Any) -> Thing:
    """A pod of a server, whose container runs."""
    thing = pod(f"{name}-{ordinal}")
    thing["status"]["containerStatuses"] = [
        {"name": "server", "containerID": container, "state": state or {"running": {}}}
    ]
    return thing


def there(api: FakeApi, name: str = "lab", replicas: int = 1) -> None:
    """A server that runs, with pods."""
    api.add(SERVERS, server(name, replicas=replicas))
    api.add(PODS, *(runs(name, ordinal) for ordinal in range(replicas)))


__all__ = ["HOST_KEY", "STDERR", "STDOUT", "FakeStream", "runs", "there"]
