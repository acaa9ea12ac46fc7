"""Images that the local cluster's nodes have under a name as people write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("installed")

SHELL = {"image": "busybox", "command": ["sh"]}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "0-0"}
# Each container with what its pod has then: the pull policy, and whether it has an input.
PODS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"image": "busybox"}, {}, "IfNotPresent"),
    ({"image": "docker.io/library/busybox:latest"}, {}, "IfNotPresent"),
    ({"image": "gpu-job-inference:latest"}, {}, "IfNotPresent"),
    ({"image": "ghcr.io/somebody/busybox"}, {}, "Always"),
    ({"image": "somebody/gpu-job-inference:latest"}, {}, "Always"),
    ({"image": "busybox", "imagePullPolicy": "Never"}, {}, "Never"),
    (SHELL, {}, "IfNotPresent true true"),
    ({**SHELL, "args": ["-c", "date"]}, {}, "IfNotPresent"),
    ({**SHELL, "image": "localhost/devctl/base:trixie"}, {}, "IfNotPresent"),
    (SHELL, {"ownerReferences": [OWNER]}, "IfNotPresent"),
]


def made(kubectl: Kubectl, pods: list[tuple[dict[str, Any], dict[str, Any], str]]) -> list[str]:
    """What the API server makes of the pods."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", **metadata},
            "spec": {"containers": [{"name": "main", **container}]},
        }
        for number, (container, metadata, _) in enumerate(pods)
    ]
    wanted = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    create = ("create", "-n", "default", "-f", "-", "--dry-run=server")
    fields = ("imagePullPolicy", "stdin", "tty")
    path = " ".join(f"{{.spec.containers[0].{field}}}" for field in fields)
    found = kubectl(*create, "-o", f"jsonpath={path}{{'\\n'}}", input=wanted)
    return [line.strip() for line in found.splitlines()]


def test_they_are_not_asked_for_and_a_shell_can_be_typed_into(kubectl: Kubectl) -> None:
    # New policies take the API server a moment to load.
    wait_until(lambda: made(kubectl, PODS[:1]) == [PODS[0][2]], "the policy is there", 30)
    assert made(kubectl, PODS) == [said for *_, said in PODS]
