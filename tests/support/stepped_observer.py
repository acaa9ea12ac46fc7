"""The observer as a process of its own, whose clocks a test sets.

usage: stepped_observer.py FILE, which holds by how many seconds they are ahead: `own`, which the
process asks for the time of day, and `server`, which the API server's answers are dated with
"""

from __future__ import annotations

import email.utils
import json
import runpy
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

_ahead = Path(sys.argv[1])
_right, _parse = time.time, email.utils.parsedate_to_datetime


def _by(clock: str) -> float:
    return float(json.loads(_ahead.read_text())[clock])


def _stepped() -> float:
    return _right() + _by("own")


def _utc_now() -> datetime:
    return datetime.fromtimestamp(_stepped(), UTC)


def _date(data: str) -> datetime:
    return _parse(data) + timedelta(seconds=_by("server"))


# Before any module of the observer takes the right ones for itself.
time.time = _stepped
email.utils.parsedate_to_datetime = _date
from devctl_observer.judging import clocks  # noqa: E402 - see above
from devctl_observer.watching import clock_watch  # noqa: E402 - see above

clocks.utc_now = _utc_now
# A test that sets a clock waits until that has been noticed.
clock_watch.PAUSE = 0.2
runpy.run_module("devctl_observer", run_name="__main__")
