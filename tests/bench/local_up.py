"""How long `devctl local up` takes: from nothing, with everything cached, and already up.

Prints figures and asserts none. Runs in a state folder of its own, which it deletes, so that
"from nothing" is true and no cluster in use is touched.

usage: local_up.py [--skip-cold]   (without it the caches of the state folder in use are taken)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY, state_folder

if TYPE_CHECKING:
    from pathlib import Path

NAME = "bench"
REPEATS = 3


def timed(arguments: list[str], state: Path) -> tuple[float, str]:
    """Seconds that a devctl command took, and what it printed.

    Raises:
        SystemExit: The command failed; its output is printed.
    """
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "devctl", "local", *arguments, "--name", NAME],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "DEVCTL_STATE_DIR": str(state)},
    )
    if result.returncode:
        raise SystemExit(f"{arguments} failed\n{result.stdout}{result.stderr}")
    return time.monotonic() - started, result.stdout


def machine() -> str:
    """The shape of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    release = os.uname().release
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {release}"


def show(label: str, seconds: list[float]) -> None:
    """One row: every run, best first."""
    print(f"{label:<44}{'  '.join(f'{s:6.1f} s' for s in sorted(seconds))}", flush=True)


def main() -> None:
    """Measure and print."""
    skip_cold = "--skip-cold" in sys.argv[1:]
    state = state_folder() if skip_cold else state_folder() / "bench"
    print(f"machine: {machine()}")
    reset = ["reset", "--confirm", NAME]
    try:
        if not skip_cold:
            shutil.rmtree(state, ignore_errors=True)
            seconds, output = timed(["up"], state)
            print(output, end="")
            show("from nothing", [seconds])
            timed(reset, state)
        fresh, again, restart, down = [], [], [], []
        for _ in range(REPEATS):
            fresh.append(timed(["up"], state)[0])
            again.append(timed(["up"], state)[0])
            down.append(timed(["down"], state)[0])
            restart.append(timed(["up"], state)[0])
            timed(reset, state)
        show("new cluster, programs and images cached", fresh)
        show("already up", again)
        show("down", down)
        show("up after down", restart)
    finally:
        if not skip_cold:
            shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    main()
