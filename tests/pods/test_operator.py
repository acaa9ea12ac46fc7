"""The operator as it is deployed: by the playbook, and confined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.deployment import SYSTEM, deploy

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

pytestmark = pytest.mark.usefixtures("deployed")


@pytest.mark.exclusive
def test_a_further_deployment_changes_nothing(
    paths: ClusterPaths, images: dict[str, Image], kubectl: Kubectl
) -> None:
    kubectl("scale", "deployment/devctl-operator", "-n", SYSTEM, "--replicas=2")
    assert " changed=0 " not in deploy(paths, images), (
        "what somebody has changed becomes ours again"
    )
    assert " changed=0 " in deploy(paths, images)


def test_the_pod_is_confined(kubectl: Kubectl) -> None:
    script = (
        "id -u; touch /probe 2>/dev/null && echo writable || echo read-only;"
        "touch /tmp/probe && echo scratch;"
        "awk '/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ {print $2}' /proc/self/status"
    )
    run = ("exec", "deployment/devctl-operator", "-n", SYSTEM, "--", "sh", "-c", script)
    no_capabilities = "0" * 16
    assert kubectl(*run).split() == [
        *("1001", "read-only", "scratch"),
        *(no_capabilities, no_capabilities, "1", "2"),
    ]
