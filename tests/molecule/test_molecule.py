"""Each scenario of molecule/ holds, typed as Ansible users type it.

The operator is away meanwhile: it would make everything before the scenario's own run of the role,
and would hide that such a run makes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

SCENARIOS = sorted(path.parent.name for path in REPOSITORY.glob("molecule/*/molecule.yml"))
DEFAULT = "default"

# Its observer starts again where it has lost its lease, as happens where the tests beside these,
# which break nodes, keep the disk busy for ten seconds.
pytestmark = pytest.mark.usefixtures("operator_away")


@pytest.fixture
def molecule(kubeconfig: Path, images: dict[str, Image], tmp_path: Path) -> Callable[..., str]:
    """Types `molecule`, with the virtual environment active and KUBECONFIG set; what it printed."""
    programs = Path(sys.executable).parent
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "KUBECONFIG": str(kubeconfig),
        "DEVCTL_TEST_IMAGE": images["base"].reference,
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path / "molecule"),
        "MOLECULE_COMMAND_BORDERS": "false",
        "NO_COLOR": "1",
    }

    def run(*words: str) -> str:
        result = subprocess.run(
            ["molecule", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            env=os.environ | environment,
            timeout=900,
        )
        if result.returncode:
            pytest.fail(f"{failed_task(result.stdout)}\n{result.stdout}")
        return result.stdout

    return run


def failed_task(output: str) -> str:
    """The last task that failed and what it said: a summary shows the first line of a failure."""
    task = ""
    failed = f"failed, and no task of it: {output[-200:]!r}"
    for line in output.splitlines():
        if found := re.search(r"TASK \[(.*?)\]", line):
            task = found[1]
        if said := line.partition("fatal: ")[2]:
            failed = f"{task}: {said[:1000]}"
    return failed


def left(kubectl: Kubectl) -> list[str]:
    """What scenarios have left behind."""
    found = kubectl.api.list("namespaces,devserverflavors")
    names = [str(thing["metadata"]["name"]) for thing in found]
    return [name for name in names if name.startswith("molecule-")]


@pytest.fixture(autouse=True, scope="module")
def clean(kubectl: Kubectl) -> Iterator[None]:
    """Nothing is left in the end; no scenario waits for the end of its namespace."""
    yield
    wait_until(lambda: not left(kubectl), lambda: f"all of it goes: {left(kubectl)}")


@pytest.mark.parametrize("scenario", sorted({*SCENARIOS} - {DEFAULT}))
def test_a_scenario_holds(scenario: str, molecule: Callable[..., str]) -> None:
    molecule("test", "--scenario-name", scenario)


def test_without_a_name_it_is_the_default_one_and_can_be_taken_step_by_step(
    molecule: Callable[..., str],
) -> None:
    listed = molecule("list")
    assert all(scenario in listed for scenario in SCENARIOS)
    sequence = molecule("matrix", "test")
    assert DEFAULT in sequence
    # As `molecule test` does them.
    for step in ("destroy", "prepare", "converge", "idempotence", "verify", "destroy"):
        assert step in sequence
        molecule(step)
