"""Making, looking at and removing servers, as Alice types it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from e2e.command_line import CommandLine
from e2e.servers import SMALL, DevServer, apply_flavor, wait_until
from e2e.tenants import ALICE, user_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

pytestmark = pytest.mark.usefixtures("deployed")


@dataclass(frozen=True)
class Place:
    """A namespace of Alice's, with a flavor of the same name."""

    name: str
    kubectl: Kubectl
    alice: CommandLine


@pytest.fixture(scope="module")
def place(
    kubectl: Kubectl,
    paths: ClusterPaths,
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    name = f"servers-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    where = ("-n", name, "--clusterrole=devctl-user", f"--user={ALICE}")
    kubectl("create", "rolebinding", "alice", *where)
    apply_flavor(kubectl, name, resources=SMALL)
    home = tmp_path_factory.mktemp("alice")
    kubeconfig = user_kubeconfig(kubectl, paths.kubeconfig, ALICE, home)
    image = {"DEVCTL_IMAGE": images["base"].reference}
    yield Place(name, kubectl, CommandLine(kubeconfig, name, home, image))
    kubectl("-n", name, "delete", "devserver", "--all")
    kubectl("delete", "devserverflavor", name)
    kubectl("delete", "namespace", name, "--wait=false")


def options(place: Place) -> tuple[str, ...]:
    return ("--flavor", place.name, "--home-size", "10Mi")


def test_the_life_of_a_server(place: Place) -> None:
    alice, name = place.alice, "life"
    server = DevServer(place.kubectl, place.name, {}, name)
    assert f"devserver/{name} created" in alice.must("create", name, *options(place), "--wait")
    assert server.status["phase"] == "Running"
    assert server.get("devserver", name)[0]["spec"]["owner"] == ALICE
    server.run("echo kept > /home/dev/file")
    assert name in alice.must("list")
    assert json.loads(alice.must("list", "-o", "json"))
    assert "Running" in alice.must("describe", name)
    assert "Running" in alice.must("status", name)
    alice.must("events", name)
    assert json.loads(alice.must("monitor", name, "--once", "-o", "json"))
    alice.must("extend", name, "--ttl", "2h")
    alice.must("stop", name, "--wait")
    assert server.status["phase"] == "Stopped"
    alice.must("start", name, "--wait")
    assert server.run("cat /home/dev/file") == "kept"
    said = alice("delete", name, "--wait")
    assert said.returncode == 0
    assert f"home-{name}-0" in (said.stdout + said.stderr).decode()
    assert f"home-{name}-0" in alice.must("homes", "list")
    assert alice("homes", "delete", f"home-{name}-0", "--confirm", "other").returncode != 0
    alice.must("homes", "delete", f"home-{name}-0", "--confirm", f"home-{name}-0")
    wait_until(lambda: not server.get("pvc", f"home-{name}-0"), "its home is gone")


def test_what_goes_wrong_has_a_code_and_a_fix(place: Place) -> None:
    alice = place.alice
    assert "fix: " in alice.fails(3, "describe", "nobody")
    assert alice("create", "Not_A_Name", *options(place)).returncode in {1, 2}
    alice.must("create", "twice", *options(place), "--no-wait")
    assert "twice" in alice.fails(1, "create", "twice", *options(place), "--no-wait")
    assert "fix: " in alice.fails(3, "create", "x", "--flavor", "no-such-flavor", "--no-wait")
    elsewhere = replace(alice, namespace="kube-system")
    assert "fix: " in elsewhere.fails(5, "list")
    nowhere = replace(alice, environment={"KUBECONFIG": str(alice.home / "none")})
    assert "fix: " in nowhere.fails(1, "list")
    alice.must("delete", "twice")


def test_the_seeds_commands(place: Place) -> None:
    """As they are written; the flavor has no node here, so they are checked and not run."""
    dry = ("--dry-run=client", "-o", "json")
    single = place.alice.must("create", "my-dev", "--flavor", "gpu-large", *dry)
    assert json.loads(single)["spec"]["flavor"] == "gpu-large"
    several = ("training-job", "--flavor", "gpu-large", "--distributed", "--replicas", "4")
    spec = json.loads(place.alice.must("create", *several, *dry))["spec"]
    assert (spec["mode"], spec["distributed"]["worldSize"]) == ("distributed", 4)
