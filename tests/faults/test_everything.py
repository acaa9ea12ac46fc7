"""Every process ends at once, as with a closed shell: `down` and `up` work and nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support.commands import devctl, must
from support.fault_day import RANKS
from support.processes import kill_everything
from support.servers import wait_until

if TYPE_CHECKING:
    from support.fault_day import Day, Standing

# Whatever becomes of pods is written into their makers' status.
STABLE = {
    "generation": "deployments,daemonsets",
    "resourceVersion": "configmaps,storageclasses,clusterroles,serviceaccounts",
}

SIGNED = "cluster-info"
"""Kubernetes takes a signature out of it when a token for joining has expired."""


@dataclass(frozen=True)
class Fault:
    """What came of it: how it stood, what `status` said after `down`, how it stood after `up`."""

    before: Standing
    status: str
    after: Standing


@pytest.fixture(scope="module")
def fault(day: Day, impatient: None) -> Fault:  # noqa: ARG001 - Kubernetes starts anew anyway
    before = day.stand()
    name = ("--name", day.cluster.name)
    kill_everything(day.cluster, day.paths)
    must(devctl("local", "down", *name))
    status = devctl("local", "status", *name).stdout
    must(devctl("local", "up", *name))
    # What status says at first is what was so before.
    wait_until(lambda: len(day.containers() - before.containers) == len(RANKS), "ranks run", 120)
    day.await_answer()
    return Fault(before, status, day.stand())


def test_down_works_without_them(fault: Fault, day: Day) -> None:
    assert fault.status.startswith(f"cluster `{day.cluster.name}` is down")


def test_what_was_written_is_there(fault: Fault) -> None:
    assert fault.after.kept == fault.before.kept


def test_the_same_pods_run_in_new_containers(fault: Fault) -> None:
    assert fault.after.pods == fault.before.pods
    assert not fault.after.containers & fault.before.containers


@pytest.mark.usefixtures("fault")
def test_up_again_changes_nothing(day: Day) -> None:
    def versions() -> dict[str, str]:
        return {
            f"{thing['kind']}/{thing['metadata']['name']}": str(thing["metadata"][number])
            for number, kinds in STABLE.items()
            for thing in day.kubectl.api.list(kinds)
            if thing["metadata"]["name"] != SIGNED
        }

    before = versions()
    output = must(devctl("local", "up", "--name", day.cluster.name))
    assert versions() == before
    steps = [line for line in output.splitlines() if line.startswith("[")]
    assert len(steps) == 8
    assert all(" unchanged " in line for line in steps), output


@pytest.mark.usefixtures("fault")
def test_every_pod_is_ready_again(day: Day) -> None:
    day.await_well()
