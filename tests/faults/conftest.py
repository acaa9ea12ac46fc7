"""The fault day: a server lives through every fault, each of which happens once, in its module.

A module's fixture does the damage and takes down what came of it; its tests look at that. Every
one leaves a cluster that is well, so that any module can be run by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.cluster import *  # noqa: F403 - pytest looks for fixtures here
from support.fault_day import Day, new_day
from support.fixtures import *  # noqa: F403

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

CONTROLLERS = "etc/kubernetes/manifests/kube-controller-manager.yaml"
GRACE = "--node-monitor-grace-period=20s"


@pytest.fixture(scope="session")
def day(
    deployed: None,  # noqa: ARG001 - it comes first
    cluster: ClusterSettings,
    kubectl: Kubectl,
    images: dict[str, Image],
) -> Iterator[Day]:
    """What lives through all of it."""
    with new_day(kubectl, cluster, images["base"].reference) as made:
        yield made


@pytest.fixture(scope="session")
def impatient(day: Day) -> Iterator[None]:
    """Kubernetes misses a node after 20 s in place of 50; the kubelet restarts its controllers.

    The time that it takes is Kubernetes' own. What comes then, and when, is ours and as it is.
    """
    file = day.paths.node(day.cluster.nodes[0].name).root / CONTROLLERS
    patient = file.read_text()
    program = "    - kube-controller-manager\n"
    assert patient.count(program) == 1
    file.write_text(patient.replace(program, f"{program}    - {GRACE}\n"))
    yield
    file.write_text(patient)
