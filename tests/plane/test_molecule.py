"""Each scenario of molecule/ holds, typed as Ansible users type it.

The operator is away meanwhile: it would make everything before the scenario's own run of the role,
and would hide that such a run makes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.commands import must

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.commands import Kubectl

    from devctl.local.images import Image

SCENARIOS = sorted(path.parent.name for path in REPOSITORY.glob("molecule/*/molecule.yml"))
DEFAULT = "default"

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
        return must(
            subprocess.run(
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
        )

    return run


def left(kubectl: Kubectl, scenario: str) -> list[str]:
    """What a scenario has left behind."""
    names = kubectl("get", "namespaces,devserverflavors", "-o", "name").split()
    return [name for name in names if f"/molecule-{scenario.replace('_', '-')}" in name]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_holds_and_leaves_nothing_behind(
    scenario: str, molecule: Callable[..., str], kubectl: Kubectl
) -> None:
    molecule("test", *(() if scenario == DEFAULT else ("--scenario-name", scenario)))
    assert not left(kubectl, scenario)


def test_scenarios_are_listed_and_one_can_be_taken_step_by_step(
    molecule: Callable[..., str], kubectl: Kubectl
) -> None:
    listed = molecule("list")
    assert all(scenario in listed for scenario in SCENARIOS)
    molecule("converge")
    molecule("verify")
    molecule("destroy")
    assert not left(kubectl, DEFAULT)
