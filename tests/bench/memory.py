"""How much memory processes use, as the kernel counts it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


def below(pid: int) -> set[int]:
    """A process and all that it has started, directly or not, and that still runs."""
    found = {pid}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read(task).split():
            found |= below(int(child))
    return found


def mebibytes(pids: Iterable[int]) -> float:
    """Their memory together; what several share counts once, in parts for each of them."""
    texts = (_read(Path(f"/proc/{pid}/smaps_rollup")) for pid in pids)
    return sum(int(match[1]) for text in texts if (match := _PSS.search(text))) / 1024


def report(processes: Mapping[str, Iterable[int]]) -> str:
    """MiB of each, by what it is called."""
    return ", ".join(f"{name} {mebibytes(pids):.0f} MiB" for name, pids in processes.items())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
