"""Traffic of a pod, from a process's /proc/PID/net/dev."""

from __future__ import annotations

from devctl_node_agent.files import read_kernel_file

_COLUMNS = 16
_RECEIVED, _SENT = 0, 8


def traffic(proc: str, pid: int) -> int | None:
    """Bytes in and out of the pod so far; None if it cannot be read."""
    data = read_kernel_file(f"{proc}/{pid}/net/dev")
    return parse_devices(data) if data else None


def parse_devices(data: bytes) -> int:
    """The sum over all interfaces but `lo`."""
    total = 0
    for line in data.splitlines():
        name, found, rest = line.rpartition(b":")
        words = rest.split()
        if found and name.strip() != b"lo" and len(words) >= _COLUMNS:
            pair = (words[_RECEIVED], words[_SENT])
            total += sum(int(word) for word in pair if word.isdigit())
    return total
