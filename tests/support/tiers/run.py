"""One run of some tiers: what is built, what runs beside what, and what the end shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from support.scheduling import NEARLY_DONE
from support.tiers import prepare
from support.tiers.budget import Used, is_good, machine_seconds
from support.tiers.closing import closing
from support.tiers.group import own_group
from support.tiers.record import Record
from support.tiers.results import outcomes, read
from support.tiers.tier import RESULTS, Tier

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO

    from support.tiers.choose import Choice
    from support.tiers.proven import Inputs
    from support.tiers.repeat import Repeats

CLUSTER_MINUTES = 4.0
"""From nothing to a cluster with operator, observer and images, all of it cached."""


class Run:
    """One run.

    Args:
        tiers: What runs.
        choices: What was decided about the deep modules of these tiers.
        repeats: What is repeated of the change.
        inputs: What each deep module depends on.
        deep: Whether everything runs, as `make test-deep` does.
        keep: Whether the cluster stays.
    """

    def __init__(  # noqa: PLR0913 - what one run differs in from another
        self,
        tiers: Sequence[Tier],
        choices: Sequence[Choice],
        repeats: Repeats,
        inputs: Inputs,
        *,
        deep: bool,
        keep: bool,
    ) -> None:
        """Start nothing yet."""
        self.rows: list[Used] = []
        self._tiers, self._choices, self._repeats = tiers, choices, repeats
        self._inputs, self._deep, self._keep = inputs, deep, keep
        self._noting = Lock()

    def do(self) -> int:
        """Run them all; the exit code."""
        shutil.rmtree(RESULTS, ignore_errors=True)
        RESULTS.mkdir()
        with shared_folder() as folder, self._building() as built:
            nearly_done = folder / NEARLY_DONE
            clustered = [tier for tier in self._tiers if tier.cluster]
            others = [tier for tier in self._tiers if not (tier.cluster or self._is_beside(tier))]
            coming: subprocess.Popen[bytes] | None = None
            for tier in others:
                if tier.name == "plane":
                    self._await_build(built)
                if tier.name == "plane" and clustered:
                    coming = self._start_cluster(nearly_done)
                self._one(tier)
            nearly_done.touch()
            if clustered:
                if coming is None:
                    self._await_build(built)
                    coming = self._start_cluster(nearly_done)
                self._with_cluster(clustered, coming)
        return self._close()

    def _close(self) -> int:
        """Print what there is to say."""
        cases = read(RESULTS.glob("*.xml"))
        ended = outcomes(cases, [choice.module for choice in self._choices])
        print(f"\n{closing(self.rows, self._choices, ended, cases, self._repeats.notes)}")  # noqa: T201
        return 0 if is_good(self.rows) else 1

    @contextmanager
    def _building(self) -> Iterator[Callable[[], bool]]:
        """Build programs and images beside tiers that need neither, and give way to them.

        Yields:
            What waits for it and says whether it succeeded.
        """
        command = ["nice", "-n", "10", *prepare.command("build")]
        with tempfile.TemporaryFile("w+") as output:
            coming: subprocess.Popen[bytes] | None = None
            if any(tier.cluster or tier.name == "plane" for tier in self._tiers):
                coming = subprocess.Popen(command, cwd=REPOSITORY, stdout=output, stderr=output)

            def wait() -> bool:
                passed = coming is None or coming.wait() == 0
                output.seek(0)
                print(output.read(), end="", flush=True)  # noqa: T201
                return passed

            try:
                yield wait
            finally:
                if coming and coming.poll() is None:
                    coming.terminate()

    def _await_build(self, built: Callable[[], bool]) -> None:
        with self._row("build", note="waited for") as end:
            end(built())

    def _start_cluster(self, event: Path) -> subprocess.Popen[bytes]:
        """Bring the cluster up when a file is there: one that nobody uses takes from who works."""
        if not self._keep:
            self._step("reset", "reset")
        wait = f'until [ -e "{event}" ]; do sleep 1; done; exec "$@"'
        command = ["sh", "-c", wait, "sh", *prepare.command("up")]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=REPOSITORY)

    def _with_cluster(self, tiers: Sequence[Tier], coming: subprocess.Popen[bytes]) -> None:
        with self._row("cluster", CLUSTER_MINUTES, "waited for") as end:
            passed = end(coming.wait() == 0)
        try:
            with ThreadPoolExecutor() as pool:
                coming_too = []
                if passed:
                    # The disk is the bottleneck of this, and the processors are that of tests.
                    pool.submit(self._load)
                for tier in tiers if passed else ():
                    beside = [other for other in self._tiers if other.beside == tier.name]
                    coming_too += [pool.submit(self._quietly, other) for other in beside]
                    self._one(tier)
            for output in coming_too:
                print(output.result(), flush=True)  # noqa: T201
        finally:
            if not self._keep:
                self._step("reset", "reset")

    @staticmethod
    def _load() -> None:
        """Load large images; a test that needs one waits, or loads it itself and shows why not."""
        command = prepare.command("load")
        subprocess.run(command, check=False, cwd=REPOSITORY, capture_output=True)

    def _step(self, name: str, action: str) -> None:
        with self._row(name) as end:
            done = subprocess.run(prepare.command(action), check=False, cwd=REPOSITORY)
            end(done.returncode == 0)

    def _is_beside(self, tier: Tier) -> bool:
        """Whether it runs at the same time as another of this run."""
        return tier.beside in {other.name for other in self._tiers}

    def _quietly(self, tier: Tier) -> str:
        """Run one in a control group of its own; returns what it printed."""
        with tempfile.TemporaryFile("w+") as output, own_group(tier.name) as prefix:
            self._one(tier, prefix, output)
            output.seek(0)
            return f"{title(tier)}\n{output.read()}"

    def _one(self, tier: Tier, prefix: Sequence[str] = (), output: IO[str] | None = None) -> None:
        own = [choice for choice in self._choices if choice.module.tier == tier.name]
        without = [choice.module.id for choice in own if not choice.why]
        budget = tier.minutes + sum(choice.module.minutes for choice in own if choice.why)
        passed = True
        with self._row(tier.name, budget, beside=tier.beside if output else "") as end:
            for command in tier.commands(deep=self._deep, without=without):
                if output is None:
                    print(title(tier), flush=True)  # noqa: T201
                line = [*prefix, *command]
                done = subprocess.run(
                    line, check=False, cwd=REPOSITORY, stdout=output, stderr=output
                )
                passed = passed and done.returncode == 0
            end(passed)
        cases = read(RESULTS.glob(f"{tier.name}-*.xml"))
        if ended := outcomes(cases, [choice.module for choice in own]):
            self._note(ended)
        if passed and output is None:
            with self._row("repeated", note=f"of {tier.name}") as end:
                end(self._repeats.of(tier.name, cases))

    def _note(self, ended: Mapping[str, bool]) -> None:
        """Record which deep modules are green at once: the run may be killed before its end."""
        with self._noting:
            Record().add(ended, datetime.now(UTC).date(), self._inputs.unchanged())

    @contextmanager
    def _row(
        self, name: str, budget: float | None = None, note: str = "", beside: str = ""
    ) -> Iterator[Callable[[bool], bool]]:
        """A row of the table about what happens meanwhile.

        Yields:
            What is told whether it passed, and returns it.
        """
        started, used = time.monotonic(), machine_seconds()
        passed = False

        def end(result: bool) -> bool:  # noqa: FBT001 - its only argument
            nonlocal passed
            passed = result
            return result

        try:
            yield end
        finally:
            minutes, cpu = (time.monotonic() - started) / 60, machine_seconds() - used
            self.rows.append(Used(name, minutes, budget, passed, note, beside, cpu))


def title(tier: Tier) -> str:
    """What its output begins with."""
    return f"== {tier.name}: {tier.proves}"


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that all processes of the run find in their environment."""
    with tempfile.TemporaryDirectory(prefix="devctl-tests-") as folder:
        os.environ |= {"DEVCTL_E2E_RUN": folder, "DEVCTL_E2E_KEEP": "1"}
        yield Path(folder)
