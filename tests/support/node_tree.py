"""A node's /proc and cgroups as folders, with dev servers' pods in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OWN = "aaaaaaaa-0000-4000-8000-00000000000a"
"""UID of the agent's own pod."""
START = ("/bin/sh", "/opt/devctl/start")
LOW = "Inter-|   Receive\n face |bytes    packets\n"


def uid(number: int) -> str:
    return f"0f2c3a1e-0000-4000-8000-{number:012x}"


def device(terminal: int | None) -> int:
    """The number of a terminal in /proc/PID/stat."""
    return 0 if terminal is None else (136 << 8) | (terminal & 0xFF) | ((terminal >> 8) << 20)


@dataclass(frozen=True)
class Tree:
    """A node.

    Attributes:
        root: Where its folders go.
        version: Of cgroups: 1 or 2.
        systemd: Which driver the kubelet has.
        parent: The kubelet's `--cgroup-root`.
    """

    root: Path
    version: int = 1
    systemd: bool = False
    parent: str = ""

    def __post_init__(self) -> None:
        """Have the agent's own pod."""
        self.proc.mkdir(parents=True)
        for folder in self._hierarchies():
            folder.mkdir(parents=True)
        if self.version == 2:
            (self.cgroup / "cgroup.controllers").write_text("cpu io memory\n")
        self.container(OWN, "agent", quality="burstable")

    @property
    def proc(self) -> Path:
        return self.root / "proc"

    @property
    def cgroup(self) -> Path:
        return self.root / "cgroup"

    def pod(self, pod: str, quality: str = "burstable") -> str:
        """A pod's folder, relative to the hierarchy."""
        inner = f"{quality}-" if quality else ""
        if self.systemd:
            name = f"kubepods-{inner}pod{pod.replace('-', '_')}.slice"
            middle = f"kubepods-{quality}.slice/" if quality else ""
            path = f"kubepods.slice/{middle}{name}"
        else:
            path = f"kubepods/{quality}/pod{pod}" if quality else f"kubepods/pod{pod}"
        return f"{self.parent}/{path}" if self.parent else path

    def container(self, pod: str, name: str, *pids: int, quality: str = "burstable") -> str:
        """A container and what is in it."""
        name = f"cri-containerd-{name}.scope" if self.systemd else name
        path = f"{self.pod(pod, quality)}/{name}"
        for folder in self._hierarchies():
            (folder / path).mkdir(parents=True, exist_ok=True)
            (folder / path / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
        self.use(pod, 0, 0, quality)
        return path

    def use(self, pod: str, cpu: float, disk: int, quality: str = "burstable") -> None:
        """What a pod has used so far: seconds and bytes."""
        path = self.pod(pod, quality)
        if self.version == 2:
            folder = self.cgroup / path
            (folder / "cpu.stat").write_text(f"usage_usec {cpu * 1e6:.0f}\nuser_usec 0\n")
            (folder / "io.stat").write_text(f"8:0 rbytes={disk} wbytes=0 rios=1 wios=0\n")
            return
        (self.cgroup / "cpuacct" / path / "cpuacct.usage").write_text(f"{cpu * 1e9:.0f}\n")
        file = self.cgroup / "blkio" / path / "blkio.throttle.io_service_bytes_recursive"
        file.write_text(f"8:0 Read {disk}\n8:0 Write 0\n8:0 Total {disk}\nTotal {disk}\n")

    def process(  # noqa: PLR0913 - what the kernel says
        self,
        pid: int,
        *argv: str,
        name: str = "",
        parent: int = 1,
        state: str = "S",
        session: int = 0,
        terminal: int | None = None,
        started: int = 0,
        disk: int = 0,
        moved: int = 0,
        inner: int = 0,
    ) -> None:
        """A process, or what has become of it."""
        folder = self.proc / str(pid)
        (folder / "net").mkdir(parents=True, exist_ok=True)
        name = name or argv[0].rpartition("/")[2]
        zeros = "0 " * 12
        (folder / "stat").write_text(
            f"{pid} ({name[:15]}) {state} {parent} {pid} {session} {device(terminal)} "
            f"-1 {zeros}1 0 {started or pid} 0 0\n"
        )
        (folder / "cmdline").write_bytes(b"".join(each.encode() + b"\0" for each in argv))
        (folder / "io").write_text(
            f"rchar: {moved}\nwchar: {moved}\nread_bytes: {disk}\nwrite_bytes: 0\n"
        )
        (folder / "status").write_text(f"Name:\t{name}\nNSpid:\t{pid}\t{inner or pid}\n")
        (folder / "environ").write_bytes(b"HOME=/home/dev\0")
        self.traffic(pid, 0)

    def traffic(self, pid: int, received: int) -> None:
        """What a process's pod has received so far."""
        rest = " 0" * 15
        (self.proc / str(pid) / "net/dev").write_text(
            f"{LOW}    lo: 999999999{rest}\n  eth0: {received}{rest}\n"
        )

    def root_of(self, pid: int) -> Path:
        """The root of a process's container."""
        folder = self.proc / str(pid) / "root"
        (folder / "dev/pts").mkdir(parents=True, exist_ok=True)
        (folder / "run/devctl").mkdir(parents=True, exist_ok=True)
        return folder

    def server(self, pod: str, first: int, *more: int) -> int:
        """A dev server's pod with its first process and its sleeper; the first PID."""
        self.container(pod, "pause", first + 90)
        self.container(pod, "server", first, first + 1, *more)
        self.process(first + 90, "/pause", parent=1)
        self.process(first, *START, name="start", parent=1, inner=1)
        self.process(first + 1, "sleep", "3600", parent=first, inner=7)
        self.root_of(first)
        return first

    def _hierarchies(self) -> list[Path]:
        if self.version == 2:
            return [self.cgroup]
        return [self.cgroup / "cpuacct", self.cgroup / "blkio"]
