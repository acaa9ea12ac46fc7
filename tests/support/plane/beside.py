"""A place beside a plane for a second operator, whose ports the first one has."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.plane.namespaces import RUNS
from support.plane.process import Process

HERE, THERE = "192.0.2.1", "192.0.2.2"


@dataclass(frozen=True)
class Place:
    """Where an operator runs.

    Attributes:
        prefix: What a command begins with that is to run there.
        address: Where its ports are.
        elects: Whether there may be others, so that it waits until it leads.
    """

    prefix: tuple[str, ...] = ()
    address: str = "127.0.0.1"
    elects: bool = False


ALONE, FIRST = Place(), Place(elects=True)


class Beside:
    """A network and a folder of its own, from which the plane's API server can be reached.

    Args:
        folder: Where its files go.
    """

    def __init__(self, folder: Path) -> None:
        """Make it; it ends with the last process in it."""
        folder.mkdir()
        idle = ["unshare", "--net", "--mount", "--propagation", "private", "sleep", "infinity"]
        self._holder = Process(idle, folder / "holder.log")
        self._holder.start()
        self._holder.await_so(self._is_apart, "it has a network of its own")
        pid = self._holder.pid
        for words in (
            f"ip link add beside type veth peer name plane netns {pid}",
            f"ip address add {HERE}/30 dev beside",
            "ip link set beside up",
        ):
            subprocess.run(words.split(), check=True)
        for words in (
            "ip link set lo up",
            f"ip address add {THERE}/30 dev plane",
            "ip link set plane up",
            f"ip route add default via {HERE}",
            f"mount --bind {folder} {RUNS}",
        ):
            subprocess.run([*self.place.prefix, *words.split()], check=True)

    @property
    def place(self) -> Place:
        """Where the second operator runs."""
        prefix = ("nsenter", f"--target={self._holder.pid}", "--net", "--mount", "--")
        return Place(prefix, THERE, elects=True)

    def end(self) -> None:
        """Leave it; programs that run there are not ended."""
        self._holder.kill()

    def _is_apart(self) -> bool:
        own, other = (Path(f"/proc/{pid}/ns/net") for pid in ("self", self._holder.pid))
        return own.readlink() != other.readlink()
