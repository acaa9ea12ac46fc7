"""What one replica uses, from the kernel's own numbers that its `usage` script prints.

The pod may be anybody's image: whatever it prints, the answer is numbers or nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# /proc counts the memory of processes in pages. How large one is, the script does not say that pods
# were started with, and keep. Not every image has getconf.
_ASK = """
page=$({ getconf PAGESIZE || grep -m1 '^KernelPageSize:' /proc/self/smaps; } 2>/dev/null)
echo "page $page"
exec sh /opt/devctl/usage
"""
COMMAND = ("sh", "-c", _ASK)
"""What is run in the replica."""

_HEAD = re.compile(r"^==> ([^\n]{1,200}) <==$", re.MULTILINE)
_PROCESS = re.compile(r"/proc/(\d{1,10})/(stat|cmdline)", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_DECIMAL = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_CGROUP = "/sys/fs/cgroup"
_KIB = 1024
_MIB = 1024 * 1024
_PAGE = re.compile(r"page (KernelPageSize: +)?(\d{1,9})(?(1) kB)$", re.ASCII | re.MULTILINE)
_PAGES = {1 << power for power in range(12, 19)}
"""Bytes that a page of memory may have: 4 KiB on most machines, 64 KiB on some ARM and POWER."""
_TICKS = 100
"""Of the processor's clock in a second, as /proc counts on every Linux."""
_UNLIMITED = 1 << 60
"""From here on a limit of cgroup version 1 is none."""
_TIMES = slice(11, 13)
"""Where a process's two times are among the fields of its `stat` after its name."""
_RSS = 21
_PARENT = 1
_STARTER = "/bin/sh -c # devctl exec\n"
"""What devctl.client.streams.execute puts above commands; people look for the command itself."""


class Gpu(NamedTuple):
    """A GPU; what its driver does not say is None. Memory is in bytes."""

    number: int
    name: str
    percent: int | None
    memory: int | None
    memory_size: int | None


@dataclass(frozen=True)
class Process:
    """A process.

    Attributes:
        pid: Its number in the replica.
        command: Its command line, cut where it is long.
        cpu_seconds: Processor time that it has used.
        memory: Bytes of memory that it has; None where its machine does not say what a page has.
    """

    pid: int
    command: str
    cpu_seconds: float
    memory: int | None


@dataclass(frozen=True)
class Usage:
    """What a replica uses at one moment; None where that is not known. Amounts are in bytes.

    Attributes:
        at: Seconds since its machine was started.
        cpu_seconds: Processor time that it has used since it was started.
        cpus: How many processors it may use.
        memory: Memory that cannot be taken away from it.
        memory_size: How much it may use.
        home: What is used of the volume at /home/dev.
        home_size: How large that is.
        gpus: Its GPUs.
        processes: Its processes.
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


def parse_usage(said: bytes) -> Usage:
    r"""What the script has printed, as numbers.

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
    """What stands behind each head; the first of a name counts, so that no process fakes one."""
    found: dict[str, str] = {}
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    # Where there is no head there is an end all the same.
    for head, end in zip(heads, ends, strict=False):
        found.setdefault(head[1], text[head.end() : end].strip("\n"))
    return found


def _cpu_seconds(parts: Mapping[str, str]) -> float | None:
    micro = _number(_line(parts.get(f"{_CGROUP}/cpu.stat", ""), "usage_usec"))
    if micro is not None:
        return micro / 1e6
    nano = _number(parts.get(f"{_CGROUP}/cpuacct/cpuacct.usage", ""))
    return None if nano is None else nano / 1e9


def _cpus(parts: Mapping[str, str]) -> float | None:
    quota, _, period = parts.get(f"{_CGROUP}/cpu.max", "").strip().partition(" ")
    if not quota:
        quota = parts.get(f"{_CGROUP}/cpu/cpu.cfs_quota_us", "")
        period = parts.get(f"{_CGROUP}/cpu/cpu.cfs_period_us", "")
    limit, length = _number(quota), _number(period)
    if limit is not None and length:
        return limit / length
    count = _number(parts.get("cpus", ""))
    return None if count is None else float(count)


def _memory(parts: Mapping[str, str]) -> int | None:
    """Memory without what the kernel only keeps because it has room for it."""
    used = _number(parts.get(f"{_CGROUP}/memory.current", ""))
    cache = _line(parts.get(f"{_CGROUP}/memory.stat", ""), "inactive_file")
    if used is None:
        used = _number(parts.get(f"{_CGROUP}/memory/memory.usage_in_bytes", ""))
        cache = _line(parts.get(f"{_CGROUP}/memory/memory.stat", ""), "total_inactive_file")
    return None if used is None else max(0, used - (_number(cache) or 0))


def _memory_size(parts: Mapping[str, str]) -> int | None:
    limit = _number(parts.get(f"{_CGROUP}/memory.max", ""))
    if limit is None:
        limit = _number(parts.get(f"{_CGROUP}/memory/memory.limit_in_bytes", ""))
    total = _number(_line(parts.get("/proc/meminfo", ""), "MemTotal:").removesuffix(" kB"))
    machine = None if total is None else total * _KIB
    return machine if limit is None or limit >= _UNLIMITED else limit


def _home(text: str) -> tuple[int | None, int | None]:
    lines = text.splitlines()
    words = lines[-1].split() if len(lines) > 1 else []
    # What the mount is made of may have spaces in its name, and what follows has not.
    for position, word in enumerate(words):
        if word.endswith("%"):
            numbers = [_number(each) for each in words[max(0, position - 3) : position]]
            if len(numbers) == len(("size", "used", "free")):
                size, used, _ = numbers
                if size is not None and used is not None:
                    return used * _KIB, size * _KIB
    return None, None


def _gpus(text: str) -> list[Gpu]:
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",", 4)]
        if len(cells) == len(Gpu._fields) and (index := _number(cells[0])) is not None:
            memory, size = (_number(cell) for cell in cells[2:4])
            found.append(
                Gpu(
                    index,
                    cells[4],
                    _number(cells[1]),
                    None if memory is None else memory * _MIB,
                    None if size is None else size * _MIB,
                )
            )
    return found


class _Stat(NamedTuple):
    name: str
    parent: int
    ticks: int
    pages: int


def _processes(parts: Mapping[str, str], page: int | None) -> list[Process]:
    stats: dict[int, _Stat] = {}
    lines: dict[int, str] = {}
    for head, text in parts.items():
        if match := _PROCESS.fullmatch(head):
            pid = int(match[1])
            if match[2] == "cmdline":
                lines[pid] = text.strip()
            elif stat := _stat(text):
                stats[pid] = stat
    ours = _ours(stats, _number(parts.get("self", "")))
    return [
        Process(
            pid,
            # A thread of the kernel, or a process that has ended, has no command line.
            lines.get(pid) or f"[{stat.name}]",
            stat.ticks / _TICKS,
            None if page is None else stat.pages * page,
        )
        for pid, stat in sorted(stats.items())
        if pid not in ours and not lines.get(pid, "").startswith(_STARTER)
    ]


def _page(text: str) -> int | None:
    """The bytes of a page: what `getconf` says, or the kernel of some memory, in the first line."""
    match = _PAGE.match(text)
    if match is None:
        return None
    found = int(match[2]) * (_KIB if match[1] else 1)
    return found if found in _PAGES else None


def _stat(text: str) -> _Stat | None:
    # The name may hold anything, brackets and spaces too; what follows the last one is numbers.
    name, bracket, rest = text.partition("(")[2].rpartition(") ")
    fields = rest.split()
    if not bracket or len(fields) <= _RSS:
        return None
    numbers = [_number(each) for each in (fields[_PARENT], *fields[_TIMES], fields[_RSS])]
    parent, user, system, pages = (number or 0 for number in numbers)
    return _Stat(name, parent, user + system, pages)


def _ours(stats: Mapping[int, _Stat], own: int | None) -> set[int]:
    """The script's own processes, which nobody wants to see."""
    found = set() if own is None else {own}
    for _ in range(3):
        found |= {pid for pid, stat in stats.items() if stat.parent in found and stat.parent}
    return found


def _line(text: str, key: str) -> str:
    """What stands behind a word at the beginning of a line."""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == key:
            return rest.strip()
    return ""


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _decimal(text: str) -> float | None:
    text = text.strip()
    return float(text) if _DECIMAL.fullmatch(text) else None
