"""The operator as config/ installs it: its namespace, and what it makes of the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.plane.plane import SYSTEM
from support.servers import DevServer

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")

SAMPLES = REPOSITORY / "config/samples"


def sample(name: str) -> dict[str, Any]:
    """A manifest from config/samples."""
    found: dict[str, Any] = yaml.safe_load((SAMPLES / name).read_text())
    return found


@pytest.fixture(scope="module")
def flavors(kubectl: Kubectl) -> Iterator[None]:
    """The samples' flavors that a machine without GPUs has room for."""
    made = [sample("devserverflavor.yaml"), sample("devserverflavor-small.yaml")]
    for flavor in made:
        kubectl.api.apply(flavor)
    yield
    for flavor in made:
        kubectl.api.delete("devserverflavor", flavor["metadata"]["name"])


def test_the_namespace_refuses_what_is_not_restricted(kubectl: Kubectl) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "unconfined", "namespace": SYSTEM},
        "spec": {"containers": [{"name": "main", "image": "none:1"}]},
    }
    with pytest.raises(pytest.fail.Exception, match=r"violates PodSecurity .*restricted"):
        kubectl.api.create(pod)


@pytest.mark.usefixtures("flavors")
@pytest.mark.parametrize(
    "name", ["devserver.yaml", "devserver-small.yaml", "devserver-distributed.yaml"]
)
def test_a_sample_is_accepted_and_answered(kubectl: Kubectl, namespace: str, name: str) -> None:
    manifest = sample(name)
    server = DevServer(kubectl, namespace, manifest["spec"], manifest["metadata"]["name"])
    server.apply()
    server.wait("Applied")
    called = server.name
    expected = {
        f"StatefulSet/{called}",
        f"Service/{called}",
        f"PersistentVolumeClaim/home-{called}-0",
    }
    assert expected <= server.uids().keys()
    kubectl.api.delete("devserver", called, namespace)
