"""Requests at a constant rate, or as many as are answered: vegeta, in a process of its own."""

from __future__ import annotations

import base64
import csv
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from devctl.local.lock import hold
from devctl.local.paths import cache_paths
from devctl.local.programs import build_group, ensure_go, load_groups

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

AS_FAST_AS_ANSWERED = 0
"""A rate: each connection asks again as soon as it is answered."""
_NANOSECONDS = 1e9
_WORKERS, _MOST = 16, 2000
"""Connections of a closed loop, and of an open one at most."""
_OK = range(200, 300)


@dataclass(frozen=True)
class Ask:
    """A request."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None

    def line(self) -> str:
        """As vegeta reads it."""
        found: dict[str, Any] = {
            "method": self.method,
            "url": self.url,
            "header": {name: [value] for name, value in self.headers.items()},
        }
        if self.body is not None:
            text = json.dumps(self.body).encode()
            found["body"] = base64.b64encode(text).decode()
            found["header"]["Content-Type"] = ["application/json"]
        return json.dumps(found)


@dataclass(frozen=True)
class Figures:
    """What became of some requests.

    Attributes:
        answered: Those with a status from 200 to 299.
        seconds: From the first one's start to the last one's end.
        waits: Of each answered one in seconds, the shortest first.
        errors: How many others there were, by what happened.
    """

    answered: int
    seconds: float
    waits: list[float]
    errors: dict[str, int]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds

    def quantile(self, share: float) -> float:
        """Within how many seconds a share of the answers came."""
        return self.waits[min(len(self.waits) - 1, int(len(self.waits) * share))]

    def __str__(self) -> str:
        """The figures on a line."""
        failed = ", ".join(f"{count} times {what}" for what, count in self.errors.items())
        return (
            f"{self.rate:.0f} a second, p50 {self.quantile(0.5) * 1000:.1f} ms,"
            f" p99 {self.quantile(0.99) * 1000:.1f} ms, errors: {failed or 'none'}"
        )


class Attack:
    """Requests that are being sent.

    Args:
        folder: For its files.
        name: Of these.
        asks: The requests, again and again.
        rate: A second; AS_FAST_AS_ANSWERED with a fixed number of connections.
        seconds: How long.
    """

    def __init__(
        self, folder: Path, name: str, asks: Iterable[Ask], *, rate: int, seconds: int
    ) -> None:
        """Begin."""
        self._rate, self._results = rate, folder / f"{name}.results"
        targets = folder / f"{name}.targets"
        targets.write_text("".join(f"{ask.line()}\n" for ask in asks))
        closed = rate == AS_FAST_AS_ANSWERED
        workers = _WORKERS if closed else _MOST
        command: list[str | Path] = [
            *(_program(), "attack", "-format=json", f"-targets={targets}"),
            *(f"-rate={rate}/1s", f"-duration={seconds}s", f"-output={self._results}"),
            *(f"-max-workers={workers}", f"-connections={workers}", "-timeout=30s", "-max-body=0"),
            *([f"-workers={workers}"] if closed else []),
        ]
        self._process = subprocess.Popen(command)

    def wait(self) -> None:
        """Wait until all are answered."""
        if self._process.wait():
            sys.exit("vegeta has failed")

    def figures(self) -> Figures:
        """What became of them, once all are answered."""
        self.wait()
        encode: list[str | Path] = [_program(), "encode", "-to=csv", self._results]
        said = subprocess.run(encode, check=True, capture_output=True, text=True).stdout
        return read(said, self._rate)


def read(said: str, rate: int) -> Figures:
    """What vegeta tells of some requests.

    At a constant rate, waiting begins when a request was due: where a late answer, or too little
    time of the processor, keeps a request back, that counts.

    Args:
        said: Lines with the time of a request, its status, how long it took, its number, and more.
        rate: A second; AS_FAST_AS_ANSWERED if no request was due before it was sent.
    """
    rows = [
        (int(row[0]), int(row[1]), int(row[2]), row[5], int(row[8]))
        for row in csv.reader(said.splitlines())
    ]
    first = min(at for at, *_ in rows)
    last = max(at + took for at, _, took, *_ in rows)
    waits, errors = list[float](), Counter[str]()
    for at, status, took, error, number in rows:
        if status not in _OK:
            errors[error.rpartition(": ")[2] or str(status)] += 1
            continue
        due = min(at, first + number * _NANOSECONDS / rate) if rate else at
        waits.append((at + took - due) / _NANOSECONDS)
    if not waits:
        sys.exit(f"no answer: {dict(errors)}")
    return Figures(len(waits), (last - first) / _NANOSECONDS, sorted(waits), dict(errors))


def ensure_vegeta() -> None:
    """Compile it, unless it is there: where a plane runs, nothing can be downloaded."""
    cache = cache_paths()
    with hold(cache.lock, "the cache of programs and images", print):
        go = ensure_go(cache)
        build_group(load_groups(go.version)["vegeta"], go, cache, print)


def _program() -> Path:
    cache = cache_paths()
    return load_groups(ensure_go(cache).version)["vegeta"].folder(cache) / "vegeta"
