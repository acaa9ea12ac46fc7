"""Which of a pod's processes hold a GPU, and whether it is in use.

With nvidia-smi, a GPU that is held but has no load is idle: so is a notebook that has only loaded a
model. Without it, a process that has a GPU open counts as using it.

Simulated GPUs (images/fake-gpu-plugin) have no load of their own. The pod sets one itself, in
percent, in /run/devctl/fake-gpu-utilization; without that file they are idle.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl_node_agent.files import folder_of_pod, read_file_of_pod, read_kernel_file
from devctl_node_agent.text import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DEVICE = re.compile(r"nvidia[0-9]{1,3}", re.ASCII)
_LINK = re.compile(r"/dev/nvidia[0-9]{1,3}", re.ASCII)
_SIMULATED = b"DEVCTL_FAKE_GPUS="
_UTILIZATION = "fake-gpu-utilization"
_MAX_ENVIRONMENT = 1 << 20
_MAX_ENTRIES = 4096
_TOOL_SECONDS = 30.0
"""How long an answer of nvidia-smi's is used: without its daemon, a call takes a second of CPU."""
_TIMEOUT = 5.0
"""Seconds: a faulty driver answers late or never."""


class Devices(NamedTuple):
    """What a container was given."""

    real: bool
    simulated: bool


class Gpus(NamedTuple):
    """A pod's use of its GPUs."""

    used_by: tuple[int, ...] = ()
    """PIDs of processes on GPUs that are in use, or may be."""
    load: int = 0
    """Percent of a simulated GPU."""
    problem: str = ""


class Load(NamedTuple):
    """nvidia-smi's answer, for all GPUs of the node."""

    processes: Mapping[int, frozenset[str]]
    """The GPUs that a process has a context on."""
    utilization: Mapping[str, int | None]
    """Percent by GPU; None if the GPU does not say, as with MIG."""


def devices(root: str, environment: bytes) -> Devices:
    """The GPUs of a container.

    Args:
        root: A process's /proc/PID/root.
        environment: What is in its /proc/PID/environ.
    """
    simulated = any(word.startswith(_SIMULATED) for word in environment.split(b"\0"))
    try:
        with folder_of_pod(root, "dev") as folder, os.scandir(folder) as entries:
            names = (entry.name for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False))
            return Devices(any(map(_DEVICE.fullmatch, names)), simulated)
    except OSError:
        return Devices(real=False, simulated=simulated)


def environment(proc: str, pid: int) -> bytes:
    """The variables that a process was started with."""
    return read_kernel_file(f"{proc}/{pid}/environ", _MAX_ENVIRONMENT) or b""


def simulated(root: str) -> Gpus:
    """The load of a pod's simulated GPUs."""
    try:
        with folder_of_pod(root, "run", "devctl") as folder:
            text = read_file_of_pod(folder, _UTILIZATION, 64).strip()
    except FileNotFoundError:
        return Gpus()
    except (OSError, ValueError) as error:
        return Gpus(problem=f"{_UTILIZATION}: {error}")
    if not (text.isdigit() and int(text) <= 100):  # noqa: PLR2004 - percent
        return Gpus(problem=f"{_UTILIZATION} is not a percentage")
    return Gpus(load=int(text))


def held(proc: str, pids: Iterable[int]) -> Gpus:
    """The processes that have a GPU open: the best answer without nvidia-smi."""
    found = []
    for pid in pids:
        try:
            with os.scandir(f"{proc}/{pid}/fd") as entries:
                for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False):
                    if _LINK.fullmatch(_link(entry.path)):
                        found.append(pid)
                        break
        except FileNotFoundError:
            continue
        except OSError as error:
            return Gpus(problem=f"open files: {error.strerror}")
    return Gpus(tuple(found))


def used(load: Load, pids: Iterable[int]) -> Gpus:
    """The processes with a context on a GPU that has load."""
    busy = {name for name, percent in load.utilization.items() if percent != 0}
    known = load.utilization.keys()
    return Gpus(
        tuple(
            pid
            for pid in pids
            if any(name in busy or name not in known for name in load.processes.get(pid, ()))
        )
    )


def parse_load(processes: str, utilization: str) -> Load:
    """nvidia-smi's tables: `pid, gpu_uuid`, and `uuid, utilization.gpu`, both without header."""
    by_pid: dict[int, frozenset[str]] = {}
    for pid, name in _rows(processes):
        if pid.isdecimal():
            by_pid[int(pid)] = by_pid.get(int(pid), frozenset()) | {name}
    loads = {name: int(text) if text.isdecimal() else None for name, text in _rows(utilization)}
    return Load(by_pid, loads)


class Tool:
    """nvidia-smi, asked rarely.

    Args:
        clock: The monotonic clock.
        program: Its path; None if this node has none.
    """

    def __init__(self, clock: Callable[[], float], program: str | None) -> None:
        """Ask nothing yet."""
        self._clock, self._program = clock, program
        self._answered = -_TOOL_SECONDS
        self._answer: Load | str = ""

    @classmethod
    def on_path(cls, clock: Callable[[], float]) -> Tool:
        """The node's, which NVIDIA's container runtime puts into the container."""
        return cls(clock, shutil.which("nvidia-smi"))

    def look(self, proc: str, pids: Iterable[int]) -> Gpus:
        """Which of these processes use a GPU."""
        if self._program is None:
            return held(proc, pids)
        if self._clock() >= self._answered + _TOOL_SECONDS:
            self._answer, self._answered = _ask(self._program), self._clock()
        if isinstance(self._answer, str):
            return Gpus(problem=self._answer)
        return used(self._answer, pids)


def _ask(program: str) -> Load | str:
    """Its answer, or what is wrong."""
    import subprocess  # noqa: PLC0415 - a megabyte that nodes without GPUs do not need

    tables = []
    for query in ("--query-compute-apps=pid,gpu_uuid", "--query-gpu=uuid,utilization.gpu"):
        argv = [program, query, "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(
                argv, capture_output=True, check=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.SubprocessError) as error:
            return f"nvidia-smi: {type(error).__name__}"
        tables.append(decode(done.stdout))
    return parse_load(*tables)


def _rows(text: str) -> list[tuple[str, str]]:
    found = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == 2:  # noqa: PLR2004
            found.append((words[0], words[1]))
    return found


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
