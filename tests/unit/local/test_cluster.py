from __future__ import annotations

import json
import shutil
from dataclasses import replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import pytest

from devctl.errors import (
    BusyError,
    DevctlError,
    HostError,
    NotFoundError,
    ReportedError,
    UsageError,
)
from devctl.local import apt, cgroups, cluster, machine, network, playbook, supervisor
from devctl.local.lock import hold
from devctl.local.paths import cluster_paths, state_folder
from devctl.local.settings import Claim, ClusterSettings, WantedRanges, block_ranges, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl.local.paths import ClusterPaths

FIRST = block_ranges(IPv4Network("198.18.0.0/18"))
SECOND = block_ranges(IPv4Network("198.18.64.0/18"))
OFFICE = Claim(IPv4Network("10.0.0.0/8"), "interface `eth0`")
ANY = WantedRanges()


def test_a_new_cluster_gets_two_nodes_and_free_ranges() -> None:
    taken = Claim(FIRST.pod, "interface `tun0`")
    settings = cluster.resolve(None, "lab", None, ANY, [taken])
    assert settings == ClusterSettings("lab", 2, *SECOND)


def test_ranges_that_were_asked_for_are_kept_and_the_rest_avoids_them() -> None:
    wanted = WantedRanges(pod=FIRST.pod)
    settings = cluster.resolve(None, "lab", 3, wanted, iter([OFFICE]))
    assert settings == ClusterSettings("lab", 3, SECOND.node, FIRST.pod, SECOND.service)


def test_all_ranges_may_be_given_even_where_the_pool_is_full() -> None:
    node, pod, service = (IPv4Network(n) for n in ("10.1.0.0/24", "10.2.0.0/20", "10.3.0.0/20"))
    full = Claim(IPv4Network("198.18.0.0/15"), "a route")
    settings = cluster.resolve(None, "lab", 1, WantedRanges(node, pod, service), [full])
    assert settings == ClusterSettings("lab", 1, node, pod, service)


def test_a_range_in_use_names_its_holder() -> None:
    wanted = WantedRanges(service=IPv4Network("10.96.0.0/16"))
    with pytest.raises(HostError, match=r"service range `10.96.0.0/16` .* interface `eth0`"):
        cluster.resolve(None, "lab", None, wanted, [OFFICE])


@pytest.mark.parametrize(("count", "wanted"), [(None, ANY), (2, ANY), (None, WantedRanges(*FIRST))])
def test_an_existing_cluster_stays_as_it_is(count: int | None, wanted: WantedRanges) -> None:
    stored = ClusterSettings("lab", 2, *FIRST)
    assert cluster.resolve(stored, "lab", count, wanted, [OFFICE]) == stored


def test_more_nodes_keep_the_ranges() -> None:
    stored = ClusterSettings("lab", 2, *FIRST)
    assert cluster.resolve(stored, "lab", 4, ANY, []) == replace(stored, node_count=4)


@pytest.mark.parametrize(
    ("count", "wanted", "message"),
    [
        (1, ANY, "cluster `lab` has 2 nodes; nodes cannot be taken away"),
        (None, WantedRanges(pod=SECOND.pod), "cluster `lab` exists with other address ranges"),
        (None, WantedRanges(node=SECOND.node), "cluster `lab` exists with other address ranges"),
    ],
)
def test_what_an_existing_cluster_cannot_become_is_refused(
    count: int | None, wanted: WantedRanges, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        cluster.resolve(ClusterSettings("lab", 2, *FIRST), "lab", count, wanted, [])
    assert raised.value.message == message
    assert "devctl local reset --name lab" in raised.value.fix


def test_an_existing_clusters_range_that_somebody_took_names_the_holder() -> None:
    taken = Claim(IPv4Network("198.18.32.0/24"), "a route through `tun0`")
    with pytest.raises(HostError, match=r"pod range .* is in use by a route through `tun0`"):
        cluster.resolve(ClusterSettings("lab", 2, *FIRST), "lab", None, ANY, [taken])


class Host:
    """A host on which everything but the cluster's own files is pretended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.claims: list[Claim] = []
        self.runs: list[str] = []
        self.ended: list[str] = []
        self.exit_code = 0
        self.owner = ""
        monkeypatch.setattr(machine, "check_caller", lambda: None)
        monkeypatch.setattr(machine, "check_host", lambda _nodes, *, cached: cached)
        monkeypatch.setattr(apt, "host_sources", lambda: ("bookworm", []))
        monkeypatch.setattr(cgroups, "process_files", lambda _group: [])
        monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}")
        monkeypatch.setattr(network, "read_claims", lambda: self.claims)
        monkeypatch.setattr(network, "owner", lambda _settings: self.owner)
        monkeypatch.setattr(supervisor, "running_pid", lambda _paths: None)
        monkeypatch.setattr(playbook, "end_leftovers", self.ended.append)
        monkeypatch.setattr(playbook, "run", self.run)

    def let_another_have(self, name: str, folder: Path) -> Path:
        """A cluster of this name is up from another state folder, which is returned."""
        other = folder / "other/clusters" / name
        (other / "run").mkdir(parents=True)
        self.owner = str(other)
        return folder / "other"

    def run(self, name: str, _inventory: dict[str, Any], folder: Path, *, run_of: str = "") -> int:
        assert folder == cluster_paths(run_of).root
        # Leftovers are ended before, and under the lock.
        assert self.ended[-1] == run_of
        self.runs.append(name)
        return self.exit_code


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def test_up_stores_what_it_chose_and_down_keeps_it(host: Host, paths: ClusterPaths) -> None:
    settings = cluster.up("lab", None, ANY)
    assert load_settings(paths.settings) == settings
    cluster.down("lab")
    assert host.runs == ["local-up.yml", "local-down.yml"]
    # Its own bridge and routes are no reason to refuse it.
    host.claims = [
        Claim(settings.node_range, f"interface `{settings.bridge}`", settings.bridge),
        Claim(settings.node_range, f"a route through `{settings.bridge}`", settings.bridge),
    ]
    assert cluster.up("lab", None, ANY) == settings


def test_parts_are_kept_until_they_are_removed(host: Host, paths: ClusterPaths) -> None:
    assert cluster.up("lab", None, ANY, ["kueue"]).parts == ("kueue",)
    assert cluster.up("lab", 3, ANY, ["network-policy"]).parts == ("network-policy", "kueue")
    assert cluster.up("lab", None, ANY).parts == ("network-policy", "kueue")
    cluster.down("lab")
    assert cluster.up("lab", None, ANY, (), ["network-policy"]).parts == ("kueue",)
    stored = load_settings(paths.settings)
    assert stored
    assert (stored.node_count, stored.parts) == (3, ("kueue",))
    runs = len(host.runs)
    with pytest.raises(UsageError, match="there is no part `nat`"):
        cluster.up("lab", None, ANY, ["nat"])
    assert load_settings(paths.settings) == stored
    assert len(host.runs) == runs


@pytest.mark.usefixtures("host")
def test_clusters_side_by_side_get_ranges_of_their_own() -> None:
    assert cluster.up("one", None, ANY).pod_range == FIRST.pod
    assert cluster.up("two", None, ANY).pod_range == SECOND.pod
    with pytest.raises(HostError, match=r"in use by the local cluster `one`"):
        cluster.up("three", None, WantedRanges(pod=FIRST.pod))
    assert not cluster_paths("three").root.exists()


@pytest.mark.parametrize(
    ("name", "nodes", "wanted", "said"),
    [
        ("No", None, ANY, "cluster name `No` is not valid"),
        ("lab", 5, ANY, "5 nodes are not possible"),
        ("lab", None, WantedRanges(node=FIRST.pod, pod=FIRST.pod), "overlaps pod range"),
    ],
)
def test_a_request_that_makes_no_sense_leaves_no_trace(
    host: Host, name: str, nodes: int | None, wanted: WantedRanges, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        cluster.up(name, nodes, wanted)
    assert not (state_folder() / "clusters").exists()
    assert host.runs == []


@pytest.mark.parametrize(("module", "check"), [(machine, "check_host"), (apt, "host_sources")])
def test_a_host_that_cannot_carry_it_keeps_no_trace(
    host: Host, monkeypatch: pytest.MonkeyPatch, module: object, check: str
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise HostError("too small")

    monkeypatch.setattr(module, check, refuse)
    with pytest.raises(HostError, match="too small"):
        cluster.up("lab", None, ANY)
    assert not (state_folder() / "clusters").exists()
    assert host.runs == []


@pytest.mark.parametrize(
    "change",
    [
        lambda: cluster.up("lab", None, ANY),
        lambda: cluster.down("lab"),
        lambda: cluster.reset("lab"),
    ],
    ids=["up", "down", "reset"],
)
def test_a_failed_playbook_has_said_so_itself_and_loses_nothing(
    host: Host, paths: ClusterPaths, change: Callable[[], object]
) -> None:
    cluster.up("lab", None, ANY)
    host.exit_code = 2
    with pytest.raises(ReportedError):
        change()
    assert paths.settings.is_file()


def test_reset_deletes_everything_of_this_cluster_only(host: Host, paths: ClusterPaths) -> None:
    cluster.up("lab", None, ANY)
    cluster.up("other", None, ANY)
    cluster.reset("lab")
    assert host.runs[-1] == "local-down.yml"
    assert not paths.root.exists()
    assert cluster_paths("other").settings.is_file()


@pytest.mark.parametrize("change", ["up", "down", "reset"])
def test_a_second_change_at_the_same_time_is_refused(
    host: Host, paths: ClusterPaths, change: str
) -> None:
    cluster.up("lab", None, ANY)
    host.runs.clear()
    arguments = ("lab", None, ANY) if change == "up" else ("lab",)
    host.ended.clear()
    with hold(paths.lock, "it"), pytest.raises(BusyError, match="cluster `lab` is being changed"):
        getattr(cluster, change)(*arguments)
    # What the holder runs is no leftover.
    assert (host.runs, host.ended) == ([], [])


@pytest.mark.parametrize("change", ["up", "down", "reset"])
def test_anothers_cluster_of_the_same_name_is_left_alone(
    host: Host, paths: ClusterPaths, tmp_path: Path, change: str
) -> None:
    cluster.up("lab", None, ANY)
    host.runs.clear()
    host.ended.clear()
    state = host.let_another_have("lab", tmp_path)
    with pytest.raises(HostError, match="another cluster `lab` is up") as raised:
        getattr(cluster, change)(*(("lab", None, ANY) if change == "up" else ("lab",)))
    assert f"`DEVCTL_STATE_DIR={state} devctl local down" in raised.value.fix
    assert (host.runs, host.ended) == ([], [])
    assert paths.settings.is_file()


def test_a_new_cluster_that_anothers_name_refuses_leaves_no_trace(
    host: Host, tmp_path: Path
) -> None:
    host.let_another_have("lab", tmp_path)
    with pytest.raises(HostError, match="another cluster `lab` is up"):
        cluster.up("lab", None, ANY)
    assert not cluster_paths("lab").root.exists()


@pytest.mark.parametrize("own", [True, False], ids=["ours", "deleted"])
def test_our_own_cluster_and_a_deleted_ones_leftovers_are_no_reason(
    host: Host, paths: ClusterPaths, tmp_path: Path, *, own: bool
) -> None:
    cluster.up("lab", None, ANY)
    paths.run.mkdir()
    host.owner = str(paths.root if own else tmp_path / "gone/clusters/lab")
    cluster.up("lab", None, ANY)
    cluster.down("lab")
    assert host.runs == ["local-up.yml", "local-up.yml", "local-down.yml"]


def test_an_unknown_cluster_tells_how_to_make_one() -> None:
    with pytest.raises(NotFoundError, match="no local cluster `lab`") as raised:
        cluster.existing("lab")
    assert "devctl local up" in raised.value.fix


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("change", [cluster.down, cluster.reset])
def test_an_unknown_cluster_is_not_changed(change: Callable[[str], object]) -> None:
    with pytest.raises(NotFoundError, match="no local cluster `lab`"):
        change("lab")
    assert not cluster_paths("lab").root.exists()


def test_an_unknown_cluster_names_those_that_there_are() -> None:
    for name in ("one", "two"):
        file = cluster_paths(name).settings
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(ClusterSettings(name, 1, *FIRST).to_json()))
    with pytest.raises(NotFoundError) as raised:
        cluster.existing("three")
    assert "`one`, `two`" in raised.value.fix


def test_a_damaged_neighbour_is_named(host: Host) -> None:
    file = cluster_paths("broken").settings
    file.parent.mkdir(parents=True)
    file.write_text("{")
    with pytest.raises(DevctlError, match=r"broken/cluster.json` is damaged"):
        cluster.up("lab", None, ANY)
    assert host.runs == []
