"""What the replicas of a server use, from the kernel's numbers, and who is active on it."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.client.objects import Collection
from devctl.client.servers import Servers
from devctl.client.streams.execute import Execute
from devctl.client.waiting import on_every
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from devctl.client.client import Client
    from devctl.client.servers import Server
    from devctl.client.streams.execute import Executed

INTERVAL = 2.0
"""Default seconds between samples."""
_AT_ONCE = 16
"""How many replicas are sampled at the same time."""
_MISSING = {126, 127}
"""Exit codes of a shell that cannot find or run a program."""
_PATIENCE = 5.0
_SESSIONS = {"sshd": "SSH session", "sshd-session": "SSH session", "tmux": "tmux session"}

# /proc counts the memory of processes in pages. The `usage` script of pods that an older release
# started does not print the page size. Not every image has getconf.
_ASK = """
page=$({ getconf PAGESIZE || grep -m1 '^KernelPageSize:' /proc/self/smaps; } 2>/dev/null)
echo "page $page"
exec sh /opt/devctl/usage
"""
COMMAND = ("sh", "-c", _ASK)
"""The command that is run in a replica."""

_HEAD = re.compile(r"^==> ([^\n]{1,200}) <==$", re.MULTILINE)
_PROCESS = re.compile(r"/proc/(\d{1,10})/stat", re.ASCII)
_STAT = re.compile(
    r"\d+ \((?P<name>.*)\) \S (?P<parent>\d{1,18})(?: \S+){9}"
    r" (?P<user>\d{1,18}) (?P<system>\d{1,18})(?: \S+){8} (?P<pages>\d{1,18})(?!\S)",
    re.ASCII | re.DOTALL,
)
"""The fields of /proc/PID/stat; the name may contain anything, even brackets and spaces."""
_DISK = re.compile(r" (?P<size>\d{1,18}) +(?P<used>\d{1,18}) +\d{1,18} +\S*%", re.ASCII)
"""The last line of df; the device's name before the numbers may contain spaces."""
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_DECIMAL = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_CGROUP = "/sys/fs/cgroup"
_KIB = 1024
_MIB = 1024 * 1024
_PAGE = re.compile(r"page (KernelPageSize: +)?(\d{1,9})(?(1) kB)$", re.ASCII | re.MULTILINE)
_PAGES = {1 << power for power in range(12, 19)}
"""Possible page sizes in bytes: 4 KiB on most machines, 64 KiB on some ARM and POWER."""
_TICKS = 100
"""Clock ticks per second in /proc, on every Linux."""
_UNLIMITED = 1 << 60
"""A limit of cgroup version 1 from here on means none."""
_STARTER = "/bin/sh -c # devctl exec\n"
"""How devctl.client.streams.execute starts each command; only the command itself is shown."""


class Gpu(NamedTuple):
    """A GPU; None for what its driver does not report. Memory is in bytes."""

    number: int
    name: str
    percent: int | None
    memory: int | None
    memory_size: int | None


@dataclass(frozen=True)
class Process:
    """A process in a replica; its memory is in bytes, or None if the page size is unknown."""

    pid: int
    command: str
    cpu_seconds: float
    memory: int | None


@dataclass(frozen=True)
class Usage:
    """What a replica uses at one moment, in bytes; None for what is unknown.

    Attributes:
        at: Seconds since its node was booted.
        cpu_seconds: CPU time since its container was started.
        memory: Memory that the kernel cannot reclaim.
    """

    at: float | None = None
    cpu_seconds: float | None = None
    cpus: float | None = None
    memory: int | None = None
    memory_size: int | None = None
    home: int | None = None
    home_size: int | None = None
    gpus: Sequence[Gpu] = ()
    processes: Sequence[Process] = field(default_factory=list)


@dataclass(frozen=True)
class Sample:
    """What one replica uses.

    Attributes:
        usage: What it uses; None if that is unknown.
        cpu: How many CPUs it has kept busy since the last sample; None for the first one.
        busy: The same for each of its processes, by PID.
        problem: Why the usage is unknown.
    """

    replica: int
    pod: str
    usage: Usage | None = None
    cpu: float | None = None
    busy: dict[int, float] | None = None
    problem: str = ""

    def top(self, count: int) -> Sequence[Process]:
        """The busiest processes; the largest come first among equally busy ones."""
        busy = self.busy or {}
        found = self.usage.processes if self.usage else ()
        ranked = sorted(
            found, key=lambda p: (-round(busy.get(p.pid, 0.0), 2), -(p.memory or 0), p.pid)
        )
        return ranked[:count]

    def document(self) -> dict[str, Any]:
        """All of it for JSON."""
        found: dict[str, Any] = {"replica": self.replica, "pod": self.pod}
        if self.usage is None:
            return found | {"problem": self.problem}
        usage, busy = self.usage, self.busy or {}
        return found | {
            "cpu": {"used": self.cpu, "limit": usage.cpus},
            "memory": {"used": usage.memory, "limit": usage.memory_size},
            "home": {"used": usage.home, "size": usage.home_size},
            "gpus": [gpu._asdict() for gpu in usage.gpus],
            "processes": [asdict(p) | {"cpu": busy.get(p.pid)} for p in usage.processes],
        }


class Monitor(Collection):
    """Samples what servers use."""

    def once(self, name: str, seconds: float = 1.0) -> Sequence[Sample]:
        """What each replica uses; its CPU usage is measured over some seconds. See watch."""
        samples = self.watch(name, seconds)
        next(samples)
        return next(samples)

    def watch(
        self, name: str, seconds: float = INTERVAL, sleep: Callable[[float], object] = time.sleep
    ) -> Iterator[Sequence[Sample]]:
        """What each replica uses, every some seconds; CPU usage from the second sample on.

        Raises:
            NotFoundError: The server does not exist, or was deleted.
            DevctlError: It does not run.
        """
        if seconds <= 0:
            raise UsageError(f"{seconds:g} s is not a time between samples", "name 1 s or more")
        before: dict[int, Usage] = {}
        while True:
            server = Servers(self._cluster).get(name)
            if server.stopped:
                raise DevctlError(
                    f"server `{name}` is stopped", f"start it with `devctl start {name}`"
                )
            sampled = on_every(range(server.size), partial(self._sample, name, before), _AT_ONCE)
            found = [sampled[replica] for replica in range(server.size)]
            before = {sample.replica: sample.usage for sample in found if sample.usage}
            yield found
            sleep(seconds)

    def _sample(self, name: str, before: Mapping[int, Usage], replica: int) -> Sample:
        pod = f"{name}-{replica}"
        try:
            done = Execute(self._cluster)(name, COMMAND, replica=replica, is_activity=False)
        except (NotFoundError, DeniedError):
            raise
        except DevctlError as error:
            return Sample(replica, pod, problem=error.message)
        return sampled(replica, pod, done, before.get(replica))


def sampled(replica: int, pod: str, done: Executed, before: Usage | None) -> Sample:
    """A sample from what COMMAND has printed, and from the usage before."""
    if done.exit_code in _MISSING or b"==> " not in done.output:
        why = "its image has no shell, or an older release of devctl started it"
        return Sample(replica, pod, problem=f"{why}: stop and start it")
    return judge(replica, pod, parse_usage(done.output), before)


def judge(replica: int, pod: str, now: Usage, before: Usage | None) -> Sample:
    """A sample with the CPU usage since the one before."""
    if before is None or now.at is None or before.at is None or now.at <= before.at:
        return Sample(replica, pod, now)
    took = now.at - before.at
    cpu = None
    if now.cpu_seconds is not None and before.cpu_seconds is not None:
        # A restarted container counts from 0.
        cpu = max(0.0, now.cpu_seconds - before.cpu_seconds) / took
    used = {process.pid: process.cpu_seconds for process in before.processes}
    busy = {
        process.pid: max(0.0, process.cpu_seconds - used[process.pid]) / took
        for process in now.processes
        if process.pid in used
    }
    return Sample(replica, pod, now, cpu, busy)


def activity(client: Client, server: Server, patience: float = _PATIENCE) -> Sequence[str]:
    """What a stop would end: runs and sessions, as far as pods answer in `patience` seconds.

    >>> from devctl.client.monitor import sessions
    >>> sessions(["sshd-session: dev@notty", "/usr/sbin/sshd -i -e", "python train.py"])
    ['2 SSH sessions']
    """
    if not server.ready:
        return []
    found: list[str] = []

    def look() -> None:
        with suppress(DevctlError):
            runs = client.runs.list(server.name)
            found.extend(f"run {run.name}" for run in runs if run.state == "Running")
        with suppress(DevctlError):
            samples = next(client.monitor.watch(server.name))
            used = [sample.usage.processes for sample in samples if sample.usage]
            found.extend(sessions(process.command for each in used for process in each))

    # A server that hangs can be stopped without waiting for it.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(patience)
    return list(found)


def sessions(commands: Iterable[str]) -> list[str]:
    """The sessions among processes, with their numbers."""
    words = ((command.split() or [""])[0] for command in commands)
    programs = (PurePosixPath(word.rstrip(":")).name for word in words)
    counts = Counter(_SESSIONS[program] for program in programs if program in _SESSIONS)
    return [f"{count} {what}{'s' if count > 1 else ''}" for what, count in counts.items()]


def parse_usage(said: bytes) -> Usage:
    r"""What the script has printed, as numbers; it may run in any image, so nothing is trusted.

    >>> parse_usage(b"==> /proc/uptime <==\n12.5 3.0\n").at
    12.5
    """
    text = said.decode(errors="replace")
    parts = _parts(text)
    home, home_size = _home(parts.get("df", ""))
    return Usage(
        at=_decimal(parts.get("/proc/uptime", "").partition(" ")[0]),
        cpu_seconds=_cpu_seconds(parts),
        cpus=_cpus(parts),
        memory=_memory(parts),
        memory_size=_memory_size(parts),
        home=home,
        home_size=home_size,
        gpus=_gpus(parts.get("gpus", "")),
        processes=_processes(parts, _page(text)),
    )


def _parts(text: str) -> dict[str, str]:
    """The text below each heading; the first of a name counts, so that no process can forge one."""
    found: dict[str, str] = {}
    _, *rest = _HEAD.split(text)
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        found.setdefault(head, body.strip("\n"))
    return found


def _cpu_seconds(parts: Mapping[str, str]) -> float | None:
    nano = _times(_cgroup(parts, "cpu.stat usage_usec"), 1000)
    if nano is None:
        nano = _cgroup(parts, "cpuacct/cpuacct.usage")
    return None if nano is None else nano / 1e9


def _cpus(parts: Mapping[str, str]) -> float | None:
    quota, _, period = parts.get(f"{_CGROUP}/cpu.max", "").strip().partition(" ")
    limit, length = _number(quota), _number(period)
    if not quota:
        limit = _cgroup(parts, "cpu/cpu.cfs_quota_us")
        length = _cgroup(parts, "cpu/cpu.cfs_period_us")
    if limit is not None and length:
        return limit / length
    count = _number(parts.get("cpus", ""))
    return None if count is None else float(count)


def _memory(parts: Mapping[str, str]) -> int | None:
    """Memory without the part of the page cache that the kernel can reclaim."""
    used = _cgroup(parts, "memory.current", "memory/memory.usage_in_bytes")
    cache = _cgroup(parts, "memory.stat inactive_file", "memory/memory.stat total_inactive_file")
    return None if used is None else max(0, used - (cache or 0))


def _memory_size(parts: Mapping[str, str]) -> int | None:
    limit = _cgroup(parts, "memory.max", "memory/memory.limit_in_bytes")
    total = _number(_line(parts.get("/proc/meminfo", ""), "MemTotal:").removesuffix(" kB"))
    return _times(total, _KIB) if limit is None or limit >= _UNLIMITED else limit


def _cgroup(parts: Mapping[str, str], *places: str) -> int | None:
    """The first number in some files of cgroup version 2 or 1, each with a line's key, if any."""
    for place in places:
        file, _, key = place.partition(" ")
        text = parts.get(f"{_CGROUP}/{file}", "")
        if (found := _number(_line(text, key) if key else text)) is not None:
            return found
    return None


def _home(text: str) -> tuple[int | None, int | None]:
    _, below_titles, line = text.rpartition("\n")
    found = _DISK.search(line) if below_titles else None
    return (int(found["used"]) * _KIB, int(found["size"]) * _KIB) if found else (None, None)


def _gpus(text: str) -> list[Gpu]:
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",", 4)]
        if len(cells) == len(Gpu._fields) and (index := _number(cells[0])) is not None:
            memory, size = (_times(_number(cell), _MIB) for cell in cells[2:4])
            found.append(Gpu(index, cells[4], _number(cells[1]), memory, size))
    return found


def _processes(parts: Mapping[str, str], page: int | None) -> list[Process]:
    stats = {
        int(path[1]): stat
        for head, text in parts.items()
        if (path := _PROCESS.fullmatch(head)) and (stat := _STAT.match(text))
    }
    parents = {pid: int(stat["parent"]) for pid, stat in stats.items()}
    ours = _ours(parents, _number(parts.get("self", "")))
    found = []
    for pid in sorted(stats.keys() - ours):
        line, stat = parts.get(f"/proc/{pid}/cmdline", "").strip(), stats[pid]
        if not line.startswith(_STARTER):
            # Kernel threads and zombies have no command line.
            command = line or f"[{stat['name']}]"
            seconds = (int(stat["user"]) + int(stat["system"])) / _TICKS
            found.append(Process(pid, command, seconds, _times(page, int(stat["pages"]))))
    return found


def _page(text: str) -> int | None:
    """The page size in bytes, from `getconf` or from the kernel, in the first line."""
    match = _PAGE.match(text)
    if match is None:
        return None
    found = int(match[2]) * (_KIB if match[1] else 1)
    return found if found in _PAGES else None


def _ours(parents: Mapping[int, int], own: int | None) -> set[int]:
    """The script's own processes."""
    found = set() if own is None else {own}
    for _ in range(3):
        found |= {pid for pid, parent in parents.items() if parent in found and parent}
    return found


def _line(text: str, key: str) -> str:
    """The rest of the line that starts with a word."""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == key:
            return rest.strip()
    return ""


def _times(count: int | None, unit: int) -> int | None:
    return None if count is None else count * unit


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _decimal(text: str) -> float | None:
    text = text.strip()
    return float(text) if _DECIMAL.fullmatch(text) else None
