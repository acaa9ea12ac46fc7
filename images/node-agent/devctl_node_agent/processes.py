"""Processes, as /proc describes them. Their names and arguments are what the processes chose."""

from __future__ import annotations

from typing import NamedTuple

from devctl_node_agent.files import read_kernel_file
from devctl_node_agent.text import clean, decode

_STAT_FIELDS = 20
"""From the state to the start time."""
_MAX_COMMAND_LINE = 4096
_MAX_ARGUMENTS = 64
PTS_MAJORS = range(136, 144)
"""Device numbers of pseudo terminals: linux/Documentation/admin-guide/devices.txt."""


class Stat(NamedTuple):
    """What is used of /proc/PID/stat."""

    name: str
    state: str
    parent: int
    session: int
    terminal: int | None
    """The number of its terminal in /dev/pts."""
    started: int
    """Ticks since boot: with the PID, it identifies a process."""


class Io(NamedTuple):
    """What is used of /proc/PID/io, in bytes."""

    disk: int
    """Read from and written to storage."""
    read: int
    """By system calls, from files, pipes and sockets."""
    written: int


class Process(NamedTuple):
    """A process of a pod."""

    pid: int
    stat: Stat
    arguments: tuple[str, ...]
    io: Io | None


def read_process(proc: str, pid: int) -> Process | None:
    """A process, or None if it has ended or been replaced by a thing that is unreadable."""
    stat = parse_stat(read_kernel_file(f"{proc}/{pid}/stat", 4096) or b"")
    if stat is None:
        return None
    line = read_kernel_file(f"{proc}/{pid}/cmdline", _MAX_COMMAND_LINE)
    counters = parse_io(read_kernel_file(f"{proc}/{pid}/io", 4096) or b"")
    return Process(pid, stat, parse_command_line(line or b""), counters)


def parse_stat(data: bytes) -> Stat | None:
    r"""The fields of a stat file. A name may contain anything, even `) S 1`.

    >>> parse_stat(b"7 (a) S 1 (b) R 1 7 7 34817 7 0 0 0 0 0 9 2 0 0 20 0 1 0 512 0 0").name
    'a) S 1 (b'
    """
    before, _, rest = data.partition(b"(")
    name, found, after = rest.rpartition(b")")
    fields = after.split()
    if not (found and before.strip().isdigit() and len(fields) >= _STAT_FIELDS):
        return None
    try:
        numbers = [int(fields[index]) for index in (1, 3, 4, 19)]
    except ValueError:
        return None
    parent, session, device, started = numbers
    return Stat(decode(name), decode(fields[0]), parent, session, _terminal(device), started)


def _terminal(device: int) -> int | None:
    """The number in /dev/pts of a terminal's device number, in the kernel's encoding."""
    major, minor = (device >> 8) & 0xFFF, (device & 0xFF) | ((device >> 12) & 0xFFF00)
    return minor + (major - PTS_MAJORS.start) * 0x100000 if major in PTS_MAJORS else None


def parse_command_line(data: bytes) -> tuple[str, ...]:
    r"""The arguments of a process; a program that has set its title has one, and padding.

    >>> parse_command_line(b"sshd: dev@pts/0\0\0\0")
    ('sshd: dev@pts/0',)
    """
    words = data.rstrip(b"\0").split(b"\0", _MAX_ARGUMENTS)[:_MAX_ARGUMENTS]
    return tuple(map(decode, words)) if words != [b""] else ()


def parse_io(data: bytes) -> Io | None:
    """The counters of an io file; None without the right to read it."""
    values = {}
    for line in data.splitlines():
        name, _, value = line.partition(b":")
        if value.strip().isdigit():
            values[name] = int(value)
    try:
        disk = values[b"read_bytes"] + values[b"write_bytes"]
        return Io(disk, values[b"rchar"], values[b"wchar"])
    except KeyError:
        return None


def describe(proc: str, process: Process) -> str:
    """A process for people: its name, and its PID as the pod sees it. Arguments hold secrets."""
    pid = parse_inner_pid(read_kernel_file(f"{proc}/{process.pid}/status", 8192) or b"")
    name = clean(process.stat.name, 32)
    return f"{name} (pid {pid})" if pid else name


def parse_inner_pid(status: bytes) -> int | None:
    """The PID in the innermost namespace, from a status file.

    The first line has the process's name, in which the kernel escapes line breaks.
    """
    for line in status.splitlines():
        if line.startswith(b"NSpid:"):
            last = line.split()[-1]
            return int(last) if last.isdigit() else None
    return None
