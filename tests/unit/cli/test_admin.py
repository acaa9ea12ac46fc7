"""`devctl admin` and `devctl quota`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from unit.client.objects import NAMESPACE

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi

USERS, QUOTAS = "devserverusers", "resourcequotas"


def quota(name: str, namespace: str) -> dict[str, object]:
    return {
        "metadata": {
            "name": "devctl-quota",
            "namespace": namespace,
            "labels": {"devops.yourcompany.com/devserveruser": name},
        },
        "spec": {},
        "status": {"hard": {"requests.cpu": "4"}, "used": {"requests.cpu": "500m"}},
    }


def test_create_and_list(api: FakeApi, devctl: Devctl) -> None:
    found = devctl(
        "admin", "user", "create", "alice", "--gpus", "2", "--shared", "1Gi", "--no-wait"
    )
    assert found.stdout == "devserveruser/alice created\n"
    assert found.stderr == "next: `devctl admin user kubeconfig alice --file alice.yaml`\n"
    assert api.things[USERS, "", "alice"]["spec"] == {
        "username": "alice",
        "quota": {"gpus": 2},
        "sharedStorage": {"size": "1Gi"},
    }
    lines = devctl("admin", "user", "list").stdout.splitlines()
    assert lines[0].split() == ["NAME", "USER", "NAMESPACE", "STATE", "AGE"]
    assert lines[1].split()[:4] == ["alice", "alice", "dev-alice", "Pending"]


def test_a_class_alone_is_refused(api: FakeApi, devctl: Devctl) -> None:
    found = devctl("admin", "user", "create", "alice", "--shared-class", "efs")
    assert found.code == 2
    assert "--shared" in found.stderr
    assert not api.things


def test_suspend_resume_and_delete(api: FakeApi, devctl: Devctl) -> None:
    devctl("admin", "user", "create", "alice", "--no-wait")
    assert devctl("admin", "user", "suspend", "alice").stdout == "devserveruser/alice suspended\n"
    assert devctl("admin", "user", "resume", "alice").stdout == "devserveruser/alice resumed\n"
    refused = devctl("admin", "user", "delete", "alice")
    assert refused.code == 2
    assert "--confirm=alice" in refused.stderr
    found = devctl("admin", "user", "delete", "alice", "--confirm=alice")
    assert found.stdout == "devserveruser/alice deleted\n"
    assert "namespace `dev-alice` is kept" in found.stderr
    assert (USERS, "", "alice") not in api.things


def test_update_needs_something_to_change(api: FakeApi, devctl: Devctl) -> None:
    devctl("admin", "user", "create", "alice", "--gpus", "1", "--no-wait")
    assert devctl("admin", "user", "update", "alice").code == 2
    assert devctl("admin", "user", "update", "alice", "--gpus", "4").code == 0
    assert api.things[USERS, "", "alice"]["spec"]["quota"] == {"gpus": 4}


def test_quotas_of_all_and_of_oneself(api: FakeApi, devctl: Devctl) -> None:
    api.add(QUOTAS, quota("alice", NAMESPACE), quota("bob", "dev-bob"))
    rows = [line.split() for line in devctl("admin", "quota").stdout.splitlines()]
    assert rows[1:] == [["alice", "cpu", "500m", "3.5", "4"], ["bob", "cpu", "500m", "3.5", "4"]]
    own = [line.split() for line in devctl("quota").stdout.splitlines()]
    assert own == [["RESOURCE", "USED", "FREE", "QUOTA"], ["cpu", "500m", "3.5", "4"]]


@pytest.mark.parametrize("command", [("quota",), ("admin", "quota"), ("admin", "user", "list")])
def test_nothing_is_said_as_such(api: FakeApi, devctl: Devctl, command: tuple[str, ...]) -> None:  # noqa: ARG001
    found = devctl(*command)
    assert (found.code, found.stdout) == (0, "")
    assert found.stderr


def test_a_flavor_is_created_with_its_devices_as_limits(api: FakeApi, devctl: Devctl) -> None:
    found = devctl(
        *("admin", "flavor", "create", "gpu", "--cpu", "8", "--memory", "32Gi", "--gpus", "1"),
        *("--node-label", "instance-type=g4dn.xlarge"),
    )
    assert found.stdout == "devserverflavor/gpu created\n"
    assert api.things["devserverflavors", "", "gpu"]["spec"] == {
        "default": False,
        "resources": {
            "requests": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": 1},
            "limits": {"memory": "32Gi", "nvidia.com/gpu": 1},
        },
        "nodeSelector": {"instance-type": "g4dn.xlarge"},
    }
