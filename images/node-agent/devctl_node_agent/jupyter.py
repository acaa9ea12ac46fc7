"""What Jupyter servers in a pod say about their kernels and terminals.

The extension in roles/devserver/files/devctl_activity.py writes a file for each server. A pod can
write anything there: all is bounded, and what makes no sense is a problem.
"""

from __future__ import annotations

import json
import math
import os
import re
from typing import Any, NamedTuple

from devctl_node_agent.files import folder_of_pod, read_file_of_pod
from devctl_node_agent.text import clean

FOLDER = ("run", "devctl", "jupyter")
_NAME = re.compile(r"[0-9]{1,10}\.json", re.ASCII)
_MAX_FILES = 16
_MAX_ENTRIES = 256
_MAX_BYTES = 65536
_MAX_KERNELS = 256
_MAX_AGE = 35.0
"""Seconds; the extension writes every ten."""
_IDLE = "idle"


class Jupyter(NamedTuple):
    """The state of all Jupyter servers of a pod."""

    idle_kernels: frozenset[str] = frozenset()
    """IDs."""
    busy: tuple[str, ...] = ()
    """Names of the kernels that are not idle."""
    last: float = -math.inf
    """When the last kernel or terminal was active, on the monotonic clock."""
    problem: str = ""
    """Why it is unknown what a server does."""


def read(root: str, now: float) -> Jupyter | None:
    """The state of a pod's servers; None if there is none that reports.

    Args:
        root: A process's /proc/PID/root.
        now: The monotonic clock, which containers share.
    """
    found: Jupyter | None = None
    try:
        with folder_of_pod(root, *FOLDER) as folder:
            for name in _names(folder):
                one = _read_one(folder, name, now)
                found = (_merge(found, one) if found else one) if one else found
    except (FileNotFoundError, ProcessLookupError):
        return found
    except OSError as error:
        return Jupyter(problem=f"Jupyter's reports: {error.strerror}")
    return found


def parse(data: bytes, now: float) -> Jupyter | None:
    """One server's file; None if it is outdated, as after a server was killed.

    Raises:
        ValueError: It is not what the extension writes.
    """
    try:
        report = json.loads(data)
    except RecursionError as error:
        raise ValueError("too deep") from error
    age = now - _number(report, "at")
    if age > _MAX_AGE:
        return None
    kernels, terminals = _list(report, "kernels"), _list(report, "terminals")
    idle: set[str] = set()
    busy = []
    times = [_number(each, "active") for each in (*kernels, *terminals)]
    for kernel in kernels:
        if kernel.get("state") == _IDLE:
            idle.add(str(kernel.get("id"))[:64])
        else:
            busy.append(clean(str(kernel.get("name", "?")), 32))
    # Two servers may have started the same kernel only by a lie.
    last = min(max(times, default=-math.inf), now)
    return Jupyter(frozenset(idle), tuple(busy), last)


def _read_one(folder: int, name: str, now: float) -> Jupyter | None:
    try:
        return parse(read_file_of_pod(folder, name, _MAX_BYTES), now)
    except FileNotFoundError:  # the server has ended meanwhile
        return None
    except OSError as error:
        return Jupyter(problem=f"a report of Jupyter's: {error.strerror}")
    except ValueError as error:
        return Jupyter(problem=clean(f"a report of Jupyter's: {error}"))


def _names(folder: int) -> list[str]:
    found: list[str] = []
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if _NAME.fullmatch(entry.name):
                found.append(entry.name)
            if count >= _MAX_ENTRIES or len(found) > _MAX_FILES:
                raise OSError(0, "too many files")
    return sorted(found)


def _merge(one: Jupyter, other: Jupyter) -> Jupyter:
    return Jupyter(
        one.idle_kernels | other.idle_kernels,
        one.busy + other.busy,
        max(one.last, other.last),
        one.problem or other.problem,
    )


def _number(value: Any, name: str) -> float:
    found = value.get(name) if isinstance(value, dict) else None
    try:
        # Of Python's numbers, an integer may be larger than any float.
        number = float(found) if isinstance(found, (int, float)) else math.nan
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"`{name}` is not a number")
    return number


def _list(value: Any, name: str) -> list[dict[str, Any]]:
    found = value.get(name, [])
    if not (
        isinstance(found, list)
        and len(found) <= _MAX_KERNELS
        and all(isinstance(each, dict) for each in found)
    ):
        raise ValueError(f"`{name}` is not a list of at most {_MAX_KERNELS} objects")
    return found
