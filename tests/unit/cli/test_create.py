"""`devctl create`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.client import waiting
from unit.client.objects import FLAVORS, NAMESPACE, SERVERS, flavor, server, settings

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi

SEED = """
devctl create my-dev --flavor gpu-large
devctl create training-job --flavor gpu-large --distributed --replicas 4
"""


@pytest.fixture(autouse=True)
def settled(api: FakeApi) -> None:
    """An administrator has made a default flavor, and named an image for servers."""
    api.add(FLAVORS, flavor(default=True))
    api.add("configmaps", settings(image="torch:1"))


def spec(api: FakeApi, name: str) -> Any:
    return api.things[SERVERS, NAMESPACE, name]["spec"]


def test_the_commands_of_the_seed_run_as_written(api: FakeApi, devctl: Devctl) -> None:
    api.add(FLAVORS, flavor("gpu-large"))
    for line in SEED.strip().splitlines():
        words = line.split()[1:]
        found = devctl(*words)
        assert (found.code, found.stdout) == (0, f"devserver/{words[1]} created\n")
        assert found.stderr == f"see its state with `devctl describe {words[1]}`\n"
    owner = {"owner": "alice@company.com", "flavor": "gpu-large", "image": "torch:1"}
    assert spec(api, "my-dev") == owner
    assert spec(api, "training-job") == owner | {
        "mode": "distributed",
        "distributed": {"worldSize": 4},
    }


def test_every_option_reaches_the_spec(api: FakeApi, devctl: Devctl) -> None:
    line = "create lab --image t:2 --world-size 4 --nproc-per-node 2 --backend gloo --home-size 5Gi"
    line += " --nccl NCCL_DEBUG=INFO --nccl NCCL_IB_HCA==mlx5 --shared data --ttl 3d --no-ssh"
    line += " --idle-timeout 3600 --max-runtime 1d --delete-after-stopped 14d"
    assert devctl(*line.split()).code == 0
    assert spec(api, "lab") == {
        "owner": "alice@company.com",
        "image": "t:2",
        "mode": "distributed",
        "distributed": {
            "worldSize": 4,
            "nprocsPerNode": 2,
            "backend": "gloo",
            "ncclSettings": {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "=mlx5"},
        },
        "persistentHomeSize": "5Gi",
        "sharedVolumeClaimName": "data",
        "enableSSH": False,
        "lifecycle": {
            "timeToLive": "3d",
            "deleteAfterStopped": "14d",
            "idleTimeout": 3600,
            "maxRuntime": "1d",
            "autoShutdown": True,
        },
    }


@pytest.mark.parametrize("how", ["client", "server"])
def test_a_dry_run_shows_and_makes_nothing(how: str, api: FakeApi, devctl: Devctl) -> None:
    line = ["create", "lab", f"--dry-run={how}"]
    made = yaml.safe_load(devctl(*line, "-o", "yaml").stdout)
    assert (made["kind"], made["spec"]["image"]) == ("DevServer", "torch:1")
    assert json.loads(devctl(*line, "-o", "json").stdout) == made
    assert "dry run)" in devctl(*line).stdout
    assert devctl(*line, "-o", "name").stdout == "devserver/lab\n"
    assert api.names(SERVERS) == []


def test_create_that_waits_says_for_what_and_how_to_go_on(api: FakeApi, devctl: Devctl) -> None:
    def becomes(thing: Any) -> None:
        api.get(SERVERS, "lab")["status"] = thing["status"]

    api.made = lambda _plural, thing: thing["metadata"].update(generation=1)
    pending = server("lab", "Pending", reason="Unschedulable", message="no node has 2 GPUs")
    api.then = [lambda: becomes(pending), lambda: becomes(server("lab"))]
    found = devctl("create", "lab", "--wait", "-n", "dev-alice")
    assert (found.code, found.stdout) == (0, "devserver/lab created\n")
    assert found.stderr.splitlines() == [
        "lab: asked for",
        "lab: Pending (Unschedulable): no node has 2 GPUs",
        "lab: Running",
        "`lab` is ready; next: `devctl ssh lab -n dev-alice`",
    ]


def test_a_wait_that_is_over_says_why(
    api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_RETRY", 0.01)
    api.made = lambda _plural, thing: thing.update(
        status=server("lab", "Pending", reason="QuotaExceeded", message="ask for more")["status"]
    )
    found = devctl("create", "lab", "--wait", "--timeout", "0s", "-o", "name")
    assert (found.code, found.stdout) == (4, "devserver/lab\n")
    assert "QuotaExceeded: ask for more" in found.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("create Box", 2, "`Box` cannot be a server's name"),
        ("create lab/../x", 2, "cannot be a server's name"),
        ("create -rf", 2, "there is no option `-r`"),
        ("create", 2, "missing argument 'NAME'"),
        ("create box", 1, "server `box` already exists in namespace `dev-alice`"),
        ("create lab --flavor nothing", 3, "there is no flavor `nothing`"),
        ("create lab --distributed", 2, "the number of pods is missing"),
        ("create lab --world-size 3 --nproc-per-node 2", 2, "cannot be spread"),
        ("create lab --replicas 0", 2, "0 is not in the range x>=1"),
        ("create lab --nccl DEBUG", 2, "`DEBUG` is not a setting"),
        ("create lab --ttl soon", 2, "`soon` is not a duration"),
        ("create lab --backend mpich", 2, "'mpich' is not one of"),
    ],
)
def test_errors_are_two_lines_and_make_nothing(
    line: str, code: int, said: str, api: FakeApi, devctl: Devctl
) -> None:
    api.add(SERVERS, server("box"))
    found = devctl(*line.split())
    assert (found.code, found.stdout) == (code, "")
    error, fix = found.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert fix.startswith("  fix: ")
    assert api.names(SERVERS) == ["box"]


def test_a_refusal_of_the_cluster_is_exit_code_5(api: FakeApi, devctl: Devctl) -> None:
    api.refusals["POST", SERVERS] = (403, "devservers is forbidden: exceeded quota: servers")
    found = devctl("create", "lab")
    assert (found.code, len(found.stderr.splitlines())) == (5, 2)


def test_without_an_image_it_says_where_one_may_be_named(api: FakeApi, devctl: Devctl) -> None:
    api.add("configmaps", settings())
    found = devctl("create", "lab")
    assert found.code == 2
    assert "--image" in found.stderr
