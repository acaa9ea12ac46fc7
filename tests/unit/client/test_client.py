"""The SDK's front door: each part is there, and imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import devctl
from devctl import sdk
from devctl.client.client import Client
from devctl.client.servers import Servers
from devctl.kube.cluster import Cluster

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


@pytest.mark.parametrize(
    "part",
    [
        "servers",
        "homes",
        "flavors",
        "events",
        "runs",
        "files",
        "execute",
        "forward",
        "jupyter",
        "ssh",
        "monitor",
        "jobs",
        "workloads",
        "vllm_runs",
        "cache",
        "gpus",
    ],
)
def test_each_part_is_there_once(client: Client, part: str) -> None:
    assert getattr(client, part) is getattr(client, part)


def test_it_connects_as_it_is_told(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def connect(*where: Any) -> object:
        asked.append(where)
        return api.connect(*where)

    monkeypatch.setattr(Cluster, "connect", connect)
    found = Client(kubeconfig="file", context="other", namespace="team", request_timeout=5)
    assert asked == [("file", "other", "team", 5)]
    assert found.namespace == "team"
    assert isinstance(found.servers, Servers)


def test_the_package_has_the_sdk_flat() -> None:
    for name in sdk.__all__:
        assert getattr(devctl, name) is getattr(sdk, name)
    with pytest.raises(AttributeError, match="`devctl` has no attribute `Nothing`"):
        _ = devctl.Nothing


def test_importing_the_package_imports_no_library() -> None:
    code = "import devctl, sys; print(sorted(sys.modules.keys() & {'websockets', 'httpx2', 'ssl'}))"
    argv = [sys.executable, "-c", code]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "[]\n"
