"""The operator as config/ installs it: its namespace, and what it makes of the samples."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.plane import content
from support.plane.parts import OPERATOR_POD
from support.plane.plane import SYSTEM
from support.runs import operator_python
from support.servers import DevServer, wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

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


def conditions(kubectl: Kubectl, pod: str) -> list[tuple[str, str, str]]:
    """What a pod says of its runner."""
    found = kubectl.api.get("pods", pod, SYSTEM) or {}
    listed = found["status"].get("conditions", [])
    said = [one for one in listed if one["type"] == "WarmRunner"]
    return [(one["status"], one["reason"], one.get("message", "")) for one in said]


def publish(plane: Plane, pod: str, trouble: str) -> str:
    """What a daemon does that is not warm; returns its log."""
    program = "import sys; from devctl_runner.daemon.pod_condition import publish; "
    program += "publish(sys.argv[1], print)"
    settings = {
        "PYTHONPATH": str(REPOSITORY / "images/operator"),
        "KUBECONFIG": str(plane.account("devctl-operator")),
        "POD_NAME": pod,
        "POD_NAMESPACE": SYSTEM,
    }
    # Whoever holds the output is awaited, and so is the process that writes.
    done = subprocess.run(
        [str(operator_python()), "-c", program, trouble],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_its_pod_says_whether_the_runner_is_warm(plane: Plane, kubectl: Kubectl) -> None:
    wait_until(
        lambda: conditions(kubectl, OPERATOR_POD) == [("True", "Warm", "")], "it says that it is"
    )
    assert publish(plane, OPERATOR_POD, "ansible-core 9 has no X") == ""
    expected = [("False", "Incompatible", "ansible-core 9 has no X")]
    assert conditions(kubectl, OPERATOR_POD) == expected


def test_no_pod_speaks_for_another(plane: Plane, kubectl: Kubectl) -> None:
    kubectl.api.create(content.pod("other", SYSTEM, "devctl-operator"))
    try:
        assert publish(plane, "other", "") == "condition WarmRunner not written: 403 Forbidden\n"
        assert conditions(kubectl, "other") == []
    finally:
        kubectl.api.delete("pods", "other", SYSTEM)


@pytest.mark.usefixtures("flavors")
@pytest.mark.parametrize(
    "name",
    [
        *("devserver.yaml", "devserver-small.yaml", "devserver-distributed.yaml"),
        "devserver-hooks.yaml",
    ],
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
