"""What a pod's own activity probe says.

The script roles/devserver/files/probe asks it, and writes the last answer into a file. A pod can
write anything there: all is bounded, and what makes no sense is a problem.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from devctl_node_agent.files import folder_of_pod, read_file_of_pod, read_kernel_file
from devctl_node_agent.text import clean, decode

_FOLDER, _FILE = ("run", "devctl"), "probe"
_DECLARED, _PERIOD, _TIMEOUT = "DEVCTL_PROBE", "DEVCTL_PROBE_PERIOD", "DEVCTL_PROBE_TIMEOUT"
_MAX_BYTES = 512
_MAX_SECONDS = 86400
_SLACK = 2.0
"""Seconds by which an answer may seem to come from the future."""
_STATES = {"active": True, "idle": False}


class Timing(NamedTuple):
    """How often a probe is asked, in seconds; not a number if the pod does not say."""

    period: float
    timeout: float

    @property
    def max_age(self) -> float:
        """For how long an answer holds."""
        return 2 * self.period + self.timeout


class Answer(NamedTuple):
    """The last answer of a probe."""

    active: bool = False
    problem: str = ""
    """Why it is unknown."""


def timing(environment: bytes) -> Timing | None:
    """When a pod's probe is asked; None if the pod has none.

    Args:
        environment: What the pod's first process was started with.
    """
    pairs = (decode(word).partition("=") for word in environment.split(b"\0"))
    found = {name: value for name, _, value in pairs}
    if not found.get(_DECLARED):
        return None
    return Timing(_seconds(found.get(_PERIOD, "")), _seconds(found.get(_TIMEOUT, "")))


def uptime(proc: str) -> float | None:
    """Seconds since the machine started, as the pod's script reads them; None if unreadable."""
    words = (read_kernel_file(f"{proc}/uptime", 128) or b"").split()
    return _number(decode(words[0])) if words else None


def read(root: str, now: float | None, expected: Timing) -> Answer:
    """The last answer of a pod's probe.

    Args:
        root: A process's /proc/PID/root.
        now: Seconds since the machine started.
        expected: When the probe is asked.
    """
    try:
        with folder_of_pod(root, *_FOLDER) as folder:
            return parse(read_file_of_pod(folder, _FILE, _MAX_BYTES), now, expected)
    except (FileNotFoundError, ProcessLookupError):
        return Answer(problem="the probe has not answered yet")
    except OSError as error:
        return Answer(problem=f"the probe's answer: {error.strerror}")
    except ValueError as error:
        return Answer(problem=clean(f"the probe's answer: {error}"))


def parse(data: bytes, now: float | None, expected: Timing) -> Answer:
    """The answer in a file: `UPTIME STATE DETAIL`.

    Raises:
        ValueError: It is not what the script writes.
    """
    time, _, rest = decode(data).strip().partition(" ")
    state, _, detail = rest.partition(" ")
    at = _number(time)
    if at is None or state not in {*_STATES, "unknown"}:
        raise ValueError("not a time and a state")
    if now is None:
        return Answer(problem="the time since the node's start cannot be read")
    age = now - at
    if age < -_SLACK:
        raise ValueError("from the future")
    # Not a number is never small enough.
    if not age <= expected.max_age:
        return Answer(problem=f"the probe has not answered for {age:.0f} s")
    if state not in _STATES:
        return Answer(problem=clean(detail) or "the probe's answer is unknown")
    return Answer(_STATES[state])


def _seconds(text: str) -> float:
    found = _number(text)
    return found if found is not None and found <= _MAX_SECONDS else math.nan


def _number(text: str) -> float | None:
    """A number of seconds, written with digits only."""
    whole, _, fraction = text.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) <= 12):  # noqa: PLR2004
        return None
    if fraction and not (fraction.isascii() and fraction.isdigit()):
        return None
    return float(f"{whole}.{fraction[:6]}0")
