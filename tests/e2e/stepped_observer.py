"""The observer as a process of its own, whose time of day a test sets.

usage: stepped_observer.py FILE, which holds by how many seconds its clock is ahead
"""

from __future__ import annotations

import runpy
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

_ahead = Path(sys.argv[1])
_right = time.time


def _stepped() -> float:
    return _right() + float(_ahead.read_text())


def _utc_now() -> datetime:
    return datetime.fromtimestamp(_stepped(), UTC)


# Before any module of the observer takes the right ones for itself.
time.time = _stepped
from devctl_observer import timestamps  # noqa: E402 - see above

timestamps.utc_now = _utc_now
runpy.run_module("devctl_observer", run_name="__main__")
