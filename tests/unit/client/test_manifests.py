"""What a person asks for, as a manifest."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.devserver import NAME
from devctl.client import manifests
from devctl.client.manifests import check_name, server_manifest
from devctl.errors import UsageError


def test_examples() -> None:
    assert doctest.testmod(manifests).failed == 0


def test_what_was_asked_for_is_there_and_nothing_else() -> None:
    found = server_manifest(
        "lab",
        {
            "owner": "alice",
            "flavor": "gpu-large",
            "image": "torch:2",
            "replicas": 2,
            "world_size": 8,
            "nproc_per_node": 4,
            "backend": "nccl",
            "nccl": {"NCCL_DEBUG": "INFO"},
            "home_size": "10Gi",
            "shared": "data",
            "ttl": "3d",
            "idle_timeout": 3600,
            "max_runtime": "1d",
            "delete_after_stopped": "14d",
            "ssh": False,
            "labels": {"team": "vision"},
        },
    )
    assert found == {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {"name": "lab", "labels": {"team": "vision"}},
        "spec": {
            "owner": "alice",
            "flavor": "gpu-large",
            "image": "torch:2",
            "mode": "distributed",
            "distributed": {
                "worldSize": 8,
                "nprocsPerNode": 4,
                "backend": "nccl",
                "ncclSettings": {"NCCL_DEBUG": "INFO"},
            },
            "persistentHomeSize": "10Gi",
            "sharedVolumeClaimName": "data",
            "enableSSH": False,
            "lifecycle": {
                "timeToLive": "3d",
                "deleteAfterStopped": "14d",
                "idleTimeout": 3600,
                "maxRuntime": "1d",
                "autoShutdown": True,
            },
        },
    }
    assert server_manifest("lab", {})["spec"] == {}


@pytest.mark.parametrize(
    ("options", "world", "each"),
    [
        ({"distributed": True, "replicas": 4}, 4, None),
        ({"replicas": 4}, 4, None),
        ({"world_size": 4}, 4, None),
        ({"world_size": 8, "nproc_per_node": 2}, 8, 2),
        ({"replicas": 4, "nproc_per_node": 2}, 8, 2),
        ({"distributed": True, "replicas": 1}, 1, None),
    ],
)
def test_processes_are_spread(options: Any, world: int, each: int | None) -> None:
    spec = server_manifest("lab", options)["spec"]
    assert spec["mode"] == "distributed"
    assert spec["distributed"]["worldSize"] == world
    assert spec["distributed"].get("nprocsPerNode") == each


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"distributed": True}, "number of pods is missing"),
        ({"backend": "gloo"}, "number of pods is missing"),
        ({"world_size": 3, "nproc_per_node": 2}, "cannot be spread"),
        ({"world_size": 4, "replicas": 3}, "have 3 processes, not 4"),
        ({"replicas": 0}, "0 is not a number of replicas"),
        ({"replicas": 2, "nproc_per_node": 0}, "0 is not a number of processes"),
        ({"world_size": -1}, "-1 is not a number"),
        ({"distributed": False, "replicas": 2}, "one pod"),
    ],
)
def test_what_does_not_go_together_is_refused(options: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        server_manifest("lab", options)
    assert raised.value.fix


@given(st.text(max_size=60))
def test_only_what_the_kind_takes_is_a_name(name: str) -> None:
    if NAME.fullmatch(name):
        check_name(name)
        return
    with pytest.raises(UsageError, match="cannot be a server's name"):
        check_name(name)


@pytest.mark.parametrize("name", ["", "Lab", "a_b", "-a", "a-", "1a", "a" * 53, "../x", "a\n"])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a server's name"):
        server_manifest(name, {})
