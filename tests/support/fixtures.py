"""What tests of every tier ask for: it takes a `kubectl` and a `kubeconfig` and no more.

A tier's conftest imports these and says what the rest is: a plane, or a cluster of real nodes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.asked import create
from support.jobs import Job
from support.servers import wait_until
from support.sharing import Shared
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    BOB,
    OBSERVER,
    OPERATOR,
    RESOURCES,
    VERBS,
    Tenants,
    refusal,
    role,
    server,
)
from support.user_place import user_place

from devctl.local import build
from devctl.local.apt import install_missing
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.user_place import UserPlace

    from devctl.local.images import Image


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Shared:
    """What is shared with the other processes of this run, and with its other parts."""
    own = tmp_path_factory.getbasetemp()
    folder = own if worker_id == "master" else own.parent
    return Shared(Path(os.environ.get("DEVCTL_E2E_RUN", folder)))


@pytest.fixture(scope="session")
def images() -> dict[str, Image]:
    """The images of this checkout, built or not."""
    return build.describe(cache_paths())[1]


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own."""
    slug = request.node.name.removeprefix("test_").partition("[")[0].replace("_", "-")
    name = f"{slug[:40].rstrip('-')}-{uuid4().hex[:6]}"
    kubectl.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    kubectl.api.delete("namespace", name)


@pytest.fixture
def job(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[Job]:
    """A job that is not made yet, in the test's namespace; all jobs there go in the end."""
    yield Job(kubectl, namespace, images["base"].reference)
    # Before its namespace, so that nothing is retried in it.
    kubectl("-n", namespace, "delete", "eaj,pod", "--all", "--grace-period=1", "--wait=false")


@pytest.fixture(scope="session")
def user_programs(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a user has on their machine, and some commands of devctl call."""
    programs = {name: name for name in ("fish", "git", "rsync", "zsh")}
    programs |= {"scp": "openssh-client", "ssh": "openssh-client"}
    shared.once(install_missing, tmp_path_factory.mktemp("apt") / "log", programs)


@pytest.fixture(scope="module")
def place(
    kubectl: Kubectl,
    kubeconfig: Path,
    deployed: None,  # noqa: ARG001 - it comes first
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[UserPlace]:
    """A namespace of the module's own, and a user who has no rights but in it."""
    home, image = tmp_path_factory.mktemp("user"), images["base"].reference
    with user_place(kubectl, kubeconfig, home, image) as made:
        yield made


@pytest.fixture
def tenants(kubectl: Kubectl, namespace: str) -> Tenants:
    """Alice, Bob and the operator, in a namespace of the test's."""
    made = Tenants(kubectl, namespace)
    made.create(ADMINISTRATOR, role("tenant", VERBS, RESOURCES), keep=True)
    # The API server goes by what it has seen of it.
    made.bind(ALICE, BOB, OPERATOR, OBSERVER, to="tenant", awaits=("create", "pods"))
    # Or a pod is refused for that, and not for what a policy says.
    account = ("serviceaccount", "default", namespace)
    wait_until(lambda: kubectl.api.get(*account) is not None, "pods have an account")
    return made


@pytest.fixture(scope="session")
def enforced(kubectl: Kubectl, installed: object) -> None:  # noqa: ARG001 - comes first
    """New policies take the API server a moment to load."""
    annotations = {"ansible.sdk.operatorframework.io/reconcile-period": "x"}
    probe = create(server(annotations=annotations), dry=True)
    wait_until(lambda: refusal(kubectl, ADMINISTRATOR, probe) != "", "it is refused", 30)
