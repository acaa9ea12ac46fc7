"""New and changed tests run ten times in random order before they land."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.tiers.tier import RESULTS

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from support.tiers.results import Case

TIMES = 10
SECONDS = 180.0
"""For all tiers together."""

_START = 10.0
"""Seconds until the first test of a process runs, on a plane."""

_GRACE = 30.0
"""Seconds that an interrupted process has to take its fixtures down."""


@dataclass
class Repeats:
    """What is repeated in one run of the tiers.

    Attributes:
        changed: Names of new and changed test functions, by their file.
        left: Seconds that remain.
        notes: What was not repeated, for the end of the run.
    """

    changed: Mapping[str, Sequence[str]]
    left: float = SECONDS
    notes: list[str] = field(default_factory=list)

    def of(self, tier: str, cases: Iterable[Case]) -> bool:
        """Repeat what has changed of a tier that has just passed.

        Returns:
            Whether all repetitions passed, as far as there was time for them.
        """
        took = seconds_of(cases, self.changed)
        chosen, too_long = chosen_within(took, self.left - _START)
        if too_long:
            longest = max(too_long, key=lambda id_: took[id_])
            self.notes.append(
                f"{tier}: {len(too_long)} changed tests were not repeated, as there was no time: "
                f"{longest} takes {took[longest]:.0f} s"
            )
        if not chosen:
            return True
        before = time.monotonic()
        passed = self._repeat(tier, chosen)
        self.left -= time.monotonic() - before
        return passed

    def _repeat(self, tier: str, ids: Sequence[str]) -> bool:
        print(f"== {tier}: {len(ids)} changed tests, {TIMES} times in random order", flush=True)  # noqa: T201
        results = f"--junitxml={RESULTS}/{tier}-repeated.xml"
        options = ("-q", "-p", "randomly", f"--count={TIMES}", "--repeat-scope=session")
        command = [sys.executable, "-m", "pytest", *options, results, *ids]
        # New examples are tried here, where a failure is the change's own.
        environment = os.environ | {"DEVCTL_TESTS_RANDOM": "1"}
        process = subprocess.Popen(command, cwd=REPOSITORY, env=environment)
        try:
            return process.wait(self.left) == 0
        except subprocess.TimeoutExpired:
            self.notes.append(f"{tier}: repetitions were stopped after {self.left:.0f} s")
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return True


def seconds_of(cases: Iterable[Case], changed: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """How long each changed test took, by its id, with all of its parameters."""
    found: dict[str, float] = {}
    for case in cases:
        name = case.name.partition("[")[0]
        if name in changed.get(case.file, ()):
            id_ = f"{case.file}::{name}"
            found[id_] = found.get(id_, 0) + case.seconds
    return found


def chosen_within(took: Mapping[str, float], seconds: float) -> tuple[list[str], list[str]]:
    """The tests that can be repeated within some seconds, the shortest first, and the others.

    >>> chosen_within({"slow": 9.0, "fast": 0.1}, 60)
    (['fast'], ['slow'])
    """
    chosen: list[str] = []
    others: list[str] = []
    for id_ in sorted(took, key=lambda id_: (took[id_], id_)):
        seconds -= took[id_] * TIMES
        (chosen if seconds >= 0 else others).append(id_)
    return chosen, others
