"""Runs tiers: `python -m support.tiers [--changed] [TIER...]`, or `... one TEST` for one test.

Programs and images are built and the cluster of real nodes comes up while tiers that need none of
it run. It is removed in the end unless DEVCTL_E2E_KEEP is set.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from support.tiers.budget import Used, is_good, table
from support.tiers.failures import failures
from support.tiers.stamps import Stamps, digest
from support.tiers.tier import RESULTS, Tier, load, tier_of

from devctl.local import cgroups
from devctl.local.paths import REPOSITORY, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

CLUSTER_MINUTES = 4.0
"""From nothing to a cluster with operator, observer and images, all of it cached."""

CLUSTER_AFTER = 3.5
"""Minutes of the plane before the cluster is asked for: on a fast day both are done at once."""

SMALL_SHARE = {"cpu.shares": "256", "cpu.weight": "25"}
"""A quarter of what a group has otherwise, as cgroup v1 and v2 put it."""


class Run:
    """One run of some tiers."""

    def __init__(self, tiers: Sequence[Tier], *, changed: bool, keep: bool) -> None:
        """Leave out what has not changed, if that is asked for; keep the cluster, likewise."""
        self.rows: list[Used] = []
        self._keep = keep
        self._stamps = Stamps()
        self._digests = {tier.name: digest(tier) for tier in tiers}
        self._tiers = []
        for tier in tiers:
            if changed and self._stamps.is_fresh(tier, self._digests[tier.name]):
                why = "nothing that it depends on has changed since it passed on this machine"
                self.rows.append(Used(tier.name, 0, passed=None, note=why))
            else:
                self._tiers.append(tier)

    def do(self) -> int:
        """Run them all; the exit code."""
        shutil.rmtree(RESULTS, ignore_errors=True)
        RESULTS.mkdir()
        with shared_folder(), self._building() as built:
            clustered = [tier for tier in self._tiers if tier.cluster]
            others = [tier for tier in self._tiers if not (tier.cluster or self._is_beside(tier))]
            coming: subprocess.Popen[bytes] | None = None
            for tier in others:
                if tier.name == "plane" and clustered:
                    coming = self._start_cluster(built, CLUSTER_AFTER)
                self._one(tier)
            if clustered:
                self._with_cluster(clustered, coming or self._start_cluster(built))
        print(f"\n{table(self.rows)}", *failures(RESULTS.glob("*.xml")), sep="\n")  # noqa: T201
        return 0 if is_good(self.rows) else 1

    @contextmanager
    def _building(self) -> Iterator[Callable[[], bool]]:
        """Build programs and images beside tiers that need neither, and give way to them.

        Yields:
            What waits for it and says whether it succeeded.
        """
        command = ["nice", "-n", "10", *prepare("build")]
        with tempfile.TemporaryFile("w+") as output:
            coming: subprocess.Popen[bytes] | None = None
            if any(tier.cluster for tier in self._tiers):
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

    def _start_cluster(
        self, built: Callable[[], bool], later: float = 0
    ) -> subprocess.Popen[bytes]:
        """Bring the cluster up, some minutes later: one that nobody uses takes from who works."""
        before = time.monotonic()
        passed = built()
        self._row(Used("build", since(before), None, passed, "waited for"))
        if not self._keep:
            self._step("reset", "reset", None)
        command = ["sh", "-c", f'sleep {later * 60:.0f}; exec "$@"', "sh", *prepare("up")]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=REPOSITORY)

    def _with_cluster(self, tiers: Sequence[Tier], coming: subprocess.Popen[bytes]) -> None:
        before = time.monotonic()
        passed = coming.wait() == 0
        self._row(Used("cluster", since(before), CLUSTER_MINUTES, passed, "waited for"))
        try:
            with ThreadPoolExecutor() as pool:
                coming_too = []
                for tier in tiers if passed else ():
                    beside = [other for other in self._tiers if other.beside == tier.name]
                    coming_too += [pool.submit(self._quietly, other) for other in beside]
                    self._one(tier)
            for output in coming_too:
                print(output.result(), flush=True)  # noqa: T201
        finally:
            if not self._keep:
                self._step("reset", "reset", None)

    def _step(self, name: str, action: str, budget: float | None) -> None:
        before = time.monotonic()
        passed = subprocess.run(prepare(action), check=False, cwd=REPOSITORY).returncode == 0
        self._row(Used(name, since(before), budget, passed))

    def _is_beside(self, tier: Tier) -> bool:
        """Whether it runs at the same time as another of this run."""
        return tier.beside in {other.name for other in self._tiers}

    def _quietly(self, tier: Tier) -> str:
        """Run one where it is in nobody's way; returns what it printed."""
        with tempfile.TemporaryFile("w+") as output, own_group(tier.name) as prefix:
            self._one(tier, prefix, output)
            output.seek(0)
            return f"{title(tier)}\n{output.read()}"

    def _one(self, tier: Tier, prefix: Sequence[str] = (), output: IO[str] | None = None) -> None:
        before = time.monotonic()
        passed = True
        for command in tier.commands():
            if output is None:
                print(title(tier), flush=True)  # noqa: T201
            line = [*prefix, *command]
            done = subprocess.run(line, check=False, cwd=REPOSITORY, stdout=output, stderr=output)
            passed = passed and done.returncode == 0
        beside = tier.beside if output else ""
        self._row(Used(tier.name, since(before), tier.minutes, passed, beside=beside))
        if passed:
            self._stamps.passed(tier, self._digests[tier.name])

    def _row(self, row: Used) -> None:
        self.rows.append(row)


@contextmanager
def own_group(name: str) -> Iterator[list[str]]:
    """A control group beside those of clusters, and what a command line in it begins with.

    Whoever looks at what a cluster does to the host takes what is in it for another cluster's. It
    gives way to the clusters: how nice a process is counts among those of its own group only.
    """
    group = cgroups.path_of(name)
    cgroups.create(group)
    for hierarchy in cgroups.hierarchies():
        for setting, share in SMALL_SHARE.items():
            file = hierarchy / group.strip("/") / setting
            if file.exists():
                file.write_text(share)
    files = " ".join(shlex.quote(str(file)) for file in cgroups.process_files(group))
    folder = tempfile.mkdtemp(dir=os.environ["DEVCTL_E2E_RUN"])
    enter = f'for file in {files}; do echo $$ >"$file"; done; exec env TMPDIR={folder} "$@"'
    try:
        yield ["sh", "-ec", enter, "sh"]
    finally:
        cgroups.kill(group)
        cgroups.remove(group)


def title(tier: Tier) -> str:
    """What its output begins with."""
    return f"== {tier.name}: {tier.proves}"


def since(before: float) -> float:
    """Minutes since a moment of the monotonic clock."""
    return (time.monotonic() - before) / 60


def prepare(action: str) -> list[str]:
    """The command line that does something with the tests' cluster."""
    return [sys.executable, "-m", "support.tiers.prepare", action]


@contextmanager
def shared_folder() -> Iterator[None]:
    """A folder that all processes of the run find in their environment."""
    with tempfile.TemporaryDirectory(prefix="devctl-tests-") as folder:
        os.environ |= {"DEVCTL_E2E_RUN": folder, "DEVCTL_E2E_KEEP": "1"}
        yield


def cluster_as_it_is(tier: Tier) -> Path:
    """The folder that says what has been done to the kept cluster; another one after a change.

    What a cluster runs depends on no test.
    """
    inputs = tuple(path for path in tier.inputs if not path.startswith("tests/"))
    name = f"tests-{digest(replace(tier, inputs=inputs))[:16]}"
    folder = state_folder() / "cache" / name
    if subprocess.run(prepare("status"), check=False, cwd=REPOSITORY).returncode:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def one(tests: Sequence[str]) -> int:
    """Run some tests of one tier; a cluster that they need stays up for the next time."""
    tier = tier_of(tests[0], load())
    if tier is None:
        sys.exit(f"`{tests[0]}` is in no tier: name a file below tests/, as pytest does")
    os.environ["DEVCTL_E2E_KEEP"] = "1"
    if tier.cluster:
        os.environ["DEVCTL_E2E_RUN"] = str(cluster_as_it_is(tier))
    pytest = [sys.executable, "-m", "pytest", *tests]
    return subprocess.run(pytest, check=False, cwd=REPOSITORY).returncode


def main() -> int:
    """The command line."""
    words = sys.argv[1:]
    os.environ["PYTHONPATH"] = str(REPOSITORY / "tests")
    if words[:1] == ["one"]:
        return one(words[1:])
    tiers = load()
    changed = "--changed" in words
    names = [word for word in words if word != "--changed"] or list(tiers)
    unknown = [name for name in names if name not in tiers]
    if unknown:
        sys.exit(f"there is no tier `{unknown[0]}`: {', '.join(tiers)}")
    keep = bool(os.environ.get("DEVCTL_E2E_KEEP"))
    return Run([tiers[name] for name in names], changed=changed, keep=keep).do()


if __name__ == "__main__":
    sys.exit(main())
