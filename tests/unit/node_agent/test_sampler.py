"""A whole look at a node, from its files to the signals."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from devctl_node_agent.cgroups import MAX_PIDS, Cgroups
from devctl_node_agent.gpus import Tool
from devctl_node_agent.sampler import Sampler
from devctl_node_agent.signals import judge
from support.node_tree import OWN, Tree, uid

from devctl.api.node_activity import ALWAYS_REPORTED, Signal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from devctl_node_agent.sample import Sample

ONE = uid(1)


class Node:
    """A tree, and the agent's looks at it ten seconds apart."""

    def __init__(self, root: Path, version: int = 1) -> None:
        self.tree = Tree(root, version)
        self.now = 100.0
        cgroups = Cgroups(str(self.tree.cgroup), OWN)
        self.sampler = Sampler(str(self.tree.proc), cgroups, Tool(lambda: self.now, None))
        self.before: Mapping[str, Sample] = {}

    def look(self) -> Mapping[str, Sample]:
        self.before, self.now = self.sampler.look(self.now), self.now + 10
        return self.before

    def active(self, pod: str = ONE) -> dict[Signal, str]:
        earlier = self.before[pod].counters if pod in self.before else None
        found = judge(earlier, self.look()[pod])
        return {signal: reading.detail for signal, reading in found.items() if reading.active}


@pytest.fixture(params=[1, 2])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Node:
    return Node(tmp_path, request.param)


def test_only_dev_servers_are_looked_at(node: Node) -> None:
    node.tree.container(uid(9), "web", 900)
    node.tree.process(900, "nginx")
    node.tree.server(ONE, 100)
    assert node.look().keys() == {ONE}


def test_an_untouched_server_is_idle(node: Node) -> None:
    node.tree.server(ONE, 100)
    node.look()
    assert node.active() == {}


def test_each_kind_of_use_is_seen(node: Node) -> None:
    node.tree.server(ONE, 100, 110)
    node.tree.process(110, "python", "train.py", parent=100, inner=42)
    node.look()
    node.tree.use(ONE, 5.0, 10 << 20)
    node.tree.traffic(100, 10 << 20)
    assert node.active().keys() == ALWAYS_REPORTED - {Signal.TERMINAL}
    assert node.active() == {Signal.PROCESS: "python (pid 42)"}


def test_sleep_in_a_detached_tmux_keeps_the_server(node: Node) -> None:
    tree = node.tree
    tree.server(ONE, 100, 110, 111, 112)
    tree.process(110, "tmux", "new", name="tmux: server", parent=100, session=110)
    tree.process(111, "-bash", parent=110, session=111, terminal=0, name="bash")
    tree.process(112, "sleep", "9999", parent=111, session=111, terminal=0, inner=33)
    (tree.root_of(100) / "dev/pts/0").touch()
    node.look()
    assert node.active() == {Signal.PROCESS: "sleep (pid 33)"}
    tree.process(112, "sleep", "9999", parent=111, state="T")
    assert node.active() == {}


def test_a_silent_attached_terminal_keeps_the_server(node: Node) -> None:
    tree = node.tree
    tree.server(ONE, 100, 110, 111)
    tree.process(110, "sshd: dev@pts/0", name="sshd-session", parent=4000)
    tree.process(111, "-bash", parent=110, session=111, terminal=0, name="bash", inner=9)
    (tree.root_of(100) / "dev/pts/0").touch()
    node.look()
    assert node.active() == {Signal.TERMINAL: "bash (pid 9)"}
    # kubectl exec -t: the parent is the container runtime.
    tree.process(111, "bash", parent=4001, session=111, terminal=0, inner=9)
    assert node.active() == {Signal.TERMINAL: "bash (pid 9)"}
    # A shell that was brought in from outside, with its leader there.
    tree.process(111, "bash", parent=4001, session=4001, terminal=0, inner=9)
    assert node.active() == {Signal.TERMINAL: "bash (pid 9)"}
    # A forgotten connection, without a terminal.
    tree.container(ONE, "server", 100, 101, 110)
    assert node.active() == {}


def test_typing_in_an_editors_terminal_keeps_the_server(node: Node) -> None:
    tree = node.tree
    tree.server(ONE, 100, 110, 111)
    tree.process(110, "/home/dev/.vscode-server/bin/node", "x", name="node", parent=100)
    tree.process(111, "/bin/bash", parent=110, session=111, terminal=5)
    pts = tree.root_of(100) / "dev/pts/5"
    pts.touch()
    node.look()
    assert node.active() == {}
    os.utime(pts, (1, 1))
    assert node.active() == {Signal.TERMINAL: "input in pts/5"}
    assert node.active() == {}


def test_an_idle_kernel_waits_and_a_busy_one_does_not(node: Node) -> None:
    tree = node.tree
    tree.server(ONE, 100, 110, 111)
    tree.process(110, "python3", "/usr/bin/jupyter-lab", name="jupyter-lab", parent=100)
    kernel = ("python", "-m", "ipykernel_launcher", "-f", "/x/kernel-a-1.json")
    tree.process(111, *kernel, parent=110, inner=70)
    node.look()
    assert node.active() == {Signal.PROCESS: "python (pid 70)"}
    folder = tree.root_of(100) / "run/devctl/jupyter"
    folder.mkdir()

    def says(state: str) -> None:
        known = {"id": "a-1", "name": "python3", "state": state, "active": 5}
        (folder / "9.json").write_text(json.dumps({"at": node.now, "kernels": [known]}))

    says("idle")
    assert node.active() == {}
    says("busy")
    assert node.active() == {
        Signal.PROCESS: "python (pid 70)",
        Signal.JUPYTER: "kernel python3 is busy",
    }
    (folder / "9.json").write_text("{")
    assert node.active().keys() == {Signal.PROCESS, Signal.JUPYTER}


def test_simulated_gpus_have_a_signal(node: Node) -> None:
    node.tree.server(ONE, 100)
    (node.tree.proc / "100/environ").write_bytes(b"A=b\0DEVCTL_FAKE_GPUS=fake-gpu-0\0")
    node.look()
    assert node.active() == {}
    (node.tree.root_of(100) / "run/devctl/fake-gpu-utilization").write_text("40")
    assert node.active() == {Signal.GPU: "simulated load of 40 %"}


def test_a_process_on_a_real_gpu_is_named(node: Node) -> None:
    node.tree.server(ONE, 100)
    (node.tree.root_of(100) / "dev/nvidia0").touch()
    for pid in (100, 101):
        (node.tree.proc / f"{pid}/fd").mkdir()
    node.look()
    assert node.active() == {}
    (node.tree.proc / "101/fd/7").symlink_to("/dev/nvidia0")
    assert node.active() == {Signal.GPU: "sleep (pid 7)"}


def test_a_container_that_restarts_is_still_a_server(node: Node) -> None:
    tree = node.tree
    tree.server(ONE, 100)
    node.look()
    tree.container(ONE, "server")
    assert node.active().keys() >= {Signal.PROCESS, Signal.TERMINAL}
    assert node.before[ONE].problem == "not running"
    tree.container(ONE, "again", 200)
    tree.process(200, "/bin/sh", "/opt/devctl/start", name="start")
    tree.root_of(200)
    node.look()
    assert node.active() == {}


def test_a_server_is_found_whatever_its_first_pid(node: Node) -> None:
    node.tree.server(ONE, 100, 7, 8, 9)
    for pid in (7, 8, 9):
        node.tree.process(pid, "-bash", parent=100, name="bash")
    assert node.look().keys() == {ONE}


def test_a_pod_with_too_many_processes_is_unknown(node: Node) -> None:
    node.tree.server(ONE, 100)
    node.look()
    node.tree.container(ONE, "server", *range(100, 101 + MAX_PIDS))
    assert node.active().keys() == {Signal.DISK, Signal.PROCESS, Signal.TERMINAL}
    assert "more than" in node.before[ONE].problem


def test_one_that_ends_while_it_is_read_is_normal(node: Node) -> None:
    node.tree.server(ONE, 100, 110)
    node.look()
    assert node.active() == {}


def test_without_the_right_to_read_roots_terminals_are_unknown(node: Node) -> None:
    node.tree.server(ONE, 100, 110)
    node.tree.process(110, "-bash", parent=100, session=110, terminal=0, name="bash")
    (node.tree.root_of(100) / "dev/pts/0").touch()
    node.look()
    root = node.tree.proc / "100/root"
    root.rename(root.with_name("other"))
    root.touch()
    assert node.active().keys() == {Signal.TERMINAL, Signal.JUPYTER}


def test_a_pod_that_is_gone_is_not_reported(node: Node) -> None:
    node.tree.server(ONE, 100)
    node.look()
    pod = node.tree.pod(ONE)
    for top in node.tree.cgroup.iterdir():
        if (top / pod).exists():
            (top / pod).rename(top / "gone")
    if node.tree.version == 2:
        (node.tree.cgroup / pod).rename(node.tree.cgroup / "gone")
    assert node.look() == {}


def test_what_has_not_become_a_server_is_not_examined_for_ever(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.tree.container(uid(9), "web", 900)
    node.tree.process(900, "nginx")
    for _ in range(40):
        node.look()
    node.tree.process(900, "/bin/sh", "/opt/devctl/start")
    assert node.look() == {}


def test_a_server_that_declares_a_probe_has_its_signal(node: Node) -> None:
    tree = node.tree
    tree.server(ONE, 100)
    variables = b"DEVCTL_PROBE=exec x\0DEVCTL_PROBE_PERIOD=60\0DEVCTL_PROBE_TIMEOUT=5\0"
    (tree.proc / "100/environ").write_bytes(variables)
    (tree.proc / "uptime").write_text("5000.00 1.00\n")
    answer = tree.root_of(100) / "run/devctl/probe"
    node.look()
    assert node.active() == {Signal.PROBE: "the probe has not answered yet"}
    answer.write_text("4990.00 idle\n")
    assert node.active() == {}
    answer.write_text("4999.00 active\n")
    assert node.active() == {Signal.PROBE: "the activity probe"}
    (tree.proc / "uptime").write_text("5200.00 1.00\n")
    assert node.active() == {Signal.PROBE: "the probe has not answered for 201 s"}
