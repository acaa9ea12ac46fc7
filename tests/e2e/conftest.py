"""A real cluster of the tests' own, beside the one in use: up once, down at the end.

Several processes may run tests on it, as scripts/e2e.sh has them do: see sharing.py.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from e2e.command_line import CommandLine
from e2e.commands import devctl, must
from e2e.deployment import SYSTEM, deploy
from e2e.scheduling import Scheduling
from e2e.servers import TWO_RANKS, DevServer, apply_flavor, succeeds, wait_until
from e2e.sharing import Shared
from e2e.tenants import ALICE, BOB, OBSERVER, OPERATOR, RESOURCES, VERBS, Tenants, server
from e2e.user_place import user_place

from devctl.local import build
from devctl.local.apt import install_missing
from devctl.local.cluster import existing
from devctl.local.paths import cache_paths, cluster_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.commands import Kubectl
    from e2e.user_place import UserPlace

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

CLUSTER = os.environ.get("DEVCTL_E2E_CLUSTER", "e2e")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Where several processes run tests: which tests go to the same one."""
    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those for which the operator is away, before any are chosen by their marks."""
    for item in items:
        if "operator_away" in getattr(item, "fixturenames", ()):
            item.add_marker("operator_away")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Shared:
    """What is shared with the other processes of this run, and with its other parts."""
    own = tmp_path_factory.getbasetemp()
    folder = own if worker_id == "master" else own.parent
    return Shared(Path(os.environ.get("DEVCTL_E2E_RUN", folder)))


def bring_up() -> None:
    """Bring the tests' cluster up."""
    must(devctl("local", "up", "--name", CLUSTER))


@pytest.fixture(scope="session")
def cluster(shared: Shared, worker_id: str) -> Iterator[ClusterSettings]:
    """The tests' cluster of two nodes. DEVCTL_E2E_KEEP leaves it up for the next run."""
    shared.once(bring_up)
    yield existing(CLUSTER)[0]
    if worker_id == "master" and not os.environ.get("DEVCTL_E2E_KEEP"):
        must(devctl("local", "reset", "--name", CLUSTER, "--confirm", CLUSTER))


@pytest.fixture(scope="session")
def paths(cluster: ClusterSettings) -> ClusterPaths:
    """The cluster's files."""
    return cluster_paths(cluster.name)


@pytest.fixture(scope="session")
def kubectl(paths: ClusterPaths) -> Kubectl:
    """The cluster's kubectl, as an administrator."""
    program = find_kubectl(cache_paths())
    assert program is not None

    def run(*args: str, input: str | None = None) -> str:  # noqa: A002 - subprocess's word
        result = subprocess.run(
            [program, "--kubeconfig", paths.kubeconfig, *args],
            input=input,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            pytest.fail(f"kubectl {' '.join(args)}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    return run


@pytest.fixture(scope="session")
def images(cluster: ClusterSettings) -> dict[str, Image]:
    """The images that the nodes have."""
    assert cluster
    return build.describe(cache_paths())[1]


def install(paths: ClusterPaths, images: dict[str, Image]) -> None:
    """Deploy what this checkout holds."""
    deploy(paths, images)


@pytest.fixture(scope="session")
def deployed(shared: Shared, paths: ClusterPaths, images: dict[str, Image]) -> None:
    """The operator, the observer and all that config/ holds are installed and ready."""
    shared.once(install, paths, images)


@pytest.fixture(scope="module")
def operator_away(
    deployed: None,  # noqa: ARG001 - it is needed
    kubectl: Kubectl,
    shared: Shared,
) -> Iterator[None]:
    """The observer runs and the operator does not, so that nobody else makes children."""
    deployment = ("deployment/devctl-operator", "-n", SYSTEM)

    def leave() -> None:
        kubectl("scale", *deployment, "--replicas=0")
        selector = "app.kubernetes.io/component=operator"
        kubectl("wait", "pod", "-n", SYSTEM, "-l", selector, "--for=delete", "--timeout=60s")

    def come_back() -> None:
        kubectl("scale", *deployment, "--replicas=1")
        kubectl("rollout", "status", *deployment, "--timeout=60s")

    with shared.between("operator-away", leave, come_back):
        yield


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own."""
    slug = request.node.name.removeprefix("test_").partition("[")[0].replace("_", "-")
    name = f"{slug[:40].rstrip('-')}-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def load(cluster: ClusterSettings, image: str) -> None:
    """Bring an image that `up` does without into the cluster."""
    must(devctl("local", "load", image, "--name", cluster.name))


@pytest.fixture(scope="session")
def torch_image(
    deployed: None,  # noqa: ARG001 - it comes first
    shared: Shared,
    cluster: ClusterSettings,
    images: dict[str, Image],
) -> str:
    """devctl's own image for servers, on every node."""
    shared.once(load, cluster, "devserver", name="load-devserver")
    return images["devserver"].reference


@pytest.fixture(scope="session")
def inference_image(
    deployed: None,  # noqa: ARG001 - it comes first
    shared: Shared,
    cluster: ClusterSettings,
    images: dict[str, Image],
) -> str:
    """The image that classifies images, on every node."""
    shared.once(load, cluster, "inference", name="load-inference")
    return images["inference"].reference


@pytest.fixture(scope="session")
def lab(kubectl: Kubectl, torch_image: str, worker_id: str) -> Iterator[DevServer]:
    """A distributed server `lab` of two ranks on two nodes, which tests of commands share."""
    namespace = "lab"
    if worker_id != "master":
        namespace += f"-{worker_id}"
    kubectl("create", "namespace", namespace)
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


@pytest.fixture(scope="session")
def user_programs(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a user has on their machine, and some commands of devctl call."""
    programs = {name: name for name in ("fish", "git", "rsync", "zsh")}
    programs |= {"scp": "openssh-client", "ssh": "openssh-client"}
    shared.once(install_missing, tmp_path_factory.mktemp("apt") / "log", programs)


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


@pytest.fixture(scope="module")
def place(
    kubectl: Kubectl,
    paths: ClusterPaths,
    deployed: None,  # noqa: ARG001 - it comes first
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[UserPlace]:
    """A namespace of the module's own, and a user who has no rights but in it."""
    home, image = tmp_path_factory.mktemp("user"), images["base"].reference
    with user_place(kubectl, paths.kubeconfig, home, image) as made:
        yield made


@pytest.fixture
def tenants(kubectl: Kubectl, namespace: str) -> Tenants:
    """Alice, Bob and the operator, in a namespace of the test's."""
    names = ("tenant", "-n", namespace)
    kubectl("create", "role", *names, f"--verb={VERBS}", f"--resource={RESOURCES}")
    users = tuple(f"--user={user}" for user in (ALICE, BOB, OPERATOR, OBSERVER))
    kubectl("create", "rolebinding", *names, "--role=tenant", *users)
    # The API server goes by what it has seen of it.
    ask = ("auth", "can-i", "create", "pods", "-n", namespace, f"--as={OBSERVER}")
    wait_until(lambda: succeeds(lambda: kubectl(*ask)), "they may")
    return Tenants(kubectl, namespace)


@pytest.fixture(scope="session")
def enforced(kubectl: Kubectl, deployed: object) -> None:  # noqa: ARG001 - comes first
    """New policies take the API server a moment to load."""
    annotations = {"ansible.sdk.operatorframework.io/reconcile-period": "x"}
    probe = json.dumps(server(annotations=annotations))
    ask = ("create", "-n", "default", "-f", "-", "--dry-run=server")
    wait_until(lambda: not succeeds(lambda: kubectl(*ask, input=probe)), "it is refused", 30)
