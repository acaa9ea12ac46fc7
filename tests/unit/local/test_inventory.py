from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.local import cgroups
from devctl.local.namespaces import enter
from devctl.local.playbook import cluster_vars, inventory, node_vars

if TYPE_CHECKING:
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings


@pytest.fixture(autouse=True)
def one_hierarchy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "process_files", lambda group: [Path("/groups", group.strip("/"))])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_first_node_runs_the_control_plane_and_the_others_work(
    cluster: ClusterSettings, paths: ClusterPaths, count: int
) -> None:
    everything = inventory(replace(cluster, node_count=count), paths)
    groups = everything["all"]["children"]["nodes"]["children"]
    assert list(groups["control_plane"]["hosts"]) == ["lab-1"]
    assert list(groups["workers"]["hosts"]) == [f"lab-{n}" for n in range(2, count + 1)]
    assert json.loads(json.dumps(everything)) == everything


def test_the_cluster_is_described_by_its_own_ranges_and_folders(
    cluster: ClusterSettings, paths: ClusterPaths
) -> None:
    variables = cluster_vars(cluster, paths)
    assert variables["local_server"] == "https://198.18.0.11:6443"
    assert variables["local_ranges"] == {
        "pod": "198.18.32.0/19",
        "service": "198.18.16.0/20",
        "dns": "198.18.16.10",
    }
    own = {k: v for k, v in variables["local_paths"].items() if k != "files"}
    assert {k: v for k, v in own.items() if not v.startswith(f"{paths.root}/")} == {}
    assert Path(variables["local_paths"]["files"], "node-exec.sh").is_file()


def test_a_node_is_entered_by_its_own_handles_and_group(
    cluster: ClusterSettings, paths: ClusterPaths
) -> None:
    second = cluster.nodes[1]
    variables = node_vars(cluster, paths, second)
    assert variables["node_address"] == "198.18.0.12"
    assert variables["node_pod_range"] == str(second.pod_range)
    assert variables["node_cgroup"].strip("/") == "devctl/lab/lab-2"
    assert variables["node_cgroup_files"] == ["/groups/devctl/lab/lab-2/system"]
    # The temporary files' folder of a run is not visible inside.
    assert variables["node_enter"] == [*enter(paths.node("lab-2")), "env", "TMPDIR=/tmp"]
