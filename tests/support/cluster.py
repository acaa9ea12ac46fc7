"""A real cluster of the tests' own, beside the one in use: up once, down at the end.

Several processes may run tests on it: see sharing.py.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.command_line import CommandLine
from support.commands import Kubectl, devctl, must
from support.scheduling import Scheduling
from support.servers import TWO_RANKS, DevServer, apply_flavor, wait_until
from support.tiers import prepare
from support.tiers.prepare import CLUSTER
from support.worker_fleet import KEEPER, Fleet

from devctl.local.cluster import existing
from devctl.local.paths import cache_paths, cluster_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.sharing import Shared

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Where several processes run tests: which tests go to the same one."""
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def cluster(shared: Shared, worker_id: str) -> Iterator[ClusterSettings]:
    """The tests' cluster of two nodes. DEVCTL_E2E_KEEP leaves it up for the next run."""
    shared.once(prepare.bring_up)
    yield existing(CLUSTER)[0]
    if worker_id == "master" and not os.environ.get("DEVCTL_E2E_KEEP"):
        must(devctl("local", "reset", "--name", CLUSTER, "--confirm", CLUSTER))


@pytest.fixture(scope="session")
def paths(cluster: ClusterSettings) -> ClusterPaths:
    """The cluster's files."""
    return cluster_paths(cluster.name)


@pytest.fixture(scope="session")
def kubeconfig(paths: ClusterPaths) -> Path:
    """The administrator's kubeconfig."""
    return paths.kubeconfig


@pytest.fixture(scope="session")
def kubectl(paths: ClusterPaths) -> Kubectl:
    """The cluster's kubectl, as an administrator."""
    program = find_kubectl(cache_paths())
    assert program is not None
    return Kubectl(program, paths.kubeconfig)


@pytest.fixture(scope="session")
def deployed(shared: Shared, cluster: ClusterSettings) -> None:
    """The operator, the observer and all that config/ holds are installed and ready."""
    assert cluster
    shared.once(prepare.install)


@pytest.fixture(scope="session")
def torch_image(
    deployed: None,  # noqa: ARG001 - it comes first
    shared: Shared,
    images: dict[str, Image],
) -> str:
    """devctl's own image for servers, on every node."""
    shared.once(prepare.load, "devserver", name="load-devserver")
    return images["devserver"].reference


@pytest.fixture(scope="session")
def inference_image(
    deployed: None,  # noqa: ARG001 - it comes first
    shared: Shared,
    images: dict[str, Image],
) -> str:
    """The image that classifies images, on every node."""
    shared.once(prepare.load, "inference", name="load-inference")
    return images["inference"].reference


@pytest.fixture(scope="session")
def fleet(
    deployed: None,  # noqa: ARG001 - it comes first
    kubectl: Kubectl,
    cluster: ClusterSettings,
    images: dict[str, Image],
) -> Iterator[Fleet]:
    """The GPU workers API, with prices for all nodes."""
    made = Fleet(kubectl, cluster.name, images["base"].reference)
    made.login(KEEPER, "operator")
    wait_until(made.is_ready, lambda: str(made.replicas()), 120)
    made.price_nodes(len(cluster.nodes))
    yield made
    made.close()


@pytest.fixture(scope="session")
def lab(kubectl: Kubectl, torch_image: str) -> Iterator[DevServer]:
    """A distributed server `lab` of two ranks on two nodes, which tests of commands share."""
    namespace = f"lab-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    requests = {"cpu": "100m", "memory": "256Mi"}
    apply_flavor(kubectl, namespace, resources={"requests": requests, "limits": {"memory": "2Gi"}})
    owner = {"owner": "kubernetes-admin", "flavor": namespace, "image": torch_image}
    made = DevServer(kubectl, namespace, {**owner, "persistentHomeSize": "200Mi"})
    made.apply(**TWO_RANKS)
    made.wait("Ready", seconds=120)
    yield made
    made.delete()
    kubectl("delete", "devserverflavor", namespace)
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def command_line(
    paths: ClusterPaths,
    lab: DevServer,
    user_programs: None,  # noqa: ARG001 - it comes first
    tmp_path: Path,
) -> CommandLine:
    """The shell of the administrator, in the namespace of `lab`, with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return CommandLine(paths.kubeconfig, lab.namespace, home)


@pytest.fixture(scope="session")
def installed(deployed: None) -> None:
    """All that config/ holds is installed."""
