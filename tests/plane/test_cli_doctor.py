"""What doctor finds, for those who may see all of it and those who may not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.deployment import SYSTEM
from support.user_place import account_kubeconfig

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.command_line import CommandLine
    from support.commands import Kubectl
    from support.user_place import UserPlace

BEFORE = {"programs", "kubeconfig"}
REACHED = {*BEFORE, "reachability"}
EVERYBODYS = {*REACHED, "credentials", "versions", "clock", "kinds", "image", "queues"}
CHECK = "check the address in the kubeconfig, the network and the VPN"
LOG_IN = "log in to the cluster again, or get a new kubeconfig"
INSTALLED = {"operator", "observer", "storage", "gpus"}


def settled(kubectl: Kubectl) -> None:
    """Wait until all pods of both Deployments are ready."""
    for name in ("devctl-operator", "devctl-observer"):
        kubectl("-n", SYSTEM, "rollout", "status", "deployment", name, "--timeout=60s")


@pytest.fixture(scope="module", autouse=True)
def deployments(kubectl: Kubectl, installed: object) -> Iterator[None]:  # noqa: ARG001 - comes first
    """The Deployments that the plane goes without, with pods that kwok answers for."""
    everything = yaml.safe_load_all(kubectl("kustomize", str(REPOSITORY / "config/local")))
    made = [each for each in everything if each["kind"] == "Deployment"]
    text = yaml.safe_dump_all(made)
    kubectl("apply", "-f", "-", input=text)
    settled(kubectl)
    yield
    kubectl("delete", "-f", "-", input=text)


def findings(user: CommandLine, code: int = 0) -> dict[str, dict[str, str]]:
    """What doctor finds, by what it looked at."""
    done = user("doctor", "-o", "json")
    assert done.returncode == code, (done.stdout, done.stderr)
    return {each["check"]: each for each in json.loads(done.stdout)["checks"]}


def states(found: dict[str, dict[str, str]], state: str) -> set[str]:
    # Whether there is a default flavor is another test's.
    return {name for name, each in found.items() if each["state"] == state and name != "flavor"}


def test_all_is_well(place: UserPlace) -> None:
    own = findings(place.user)
    assert states(own, "ok") == {*EVERYBODYS, "rights"}
    assert states(own, "skipped") == {*INSTALLED, "network"}
    assert own["credentials"]["found"] == f"you are `{place.owner}`"
    everything = findings(place.administrator)
    assert states(everything, "ok") == {*EVERYBODYS, "rights", *INSTALLED}
    # A plane has no network plugin.
    assert states(everything, "skipped") == {"network"}


def test_somebody_without_rights(place: UserPlace, kubectl: Kubectl, tmp_path: Path) -> None:
    administrator = place.administrator.kubeconfig
    file = account_kubeconfig(kubectl, administrator, place.name, "other", tmp_path)
    found = findings(replace(place.user, kubeconfig=file), 1)
    assert states(found, "failed") == {"rights"}
    assert states(found, "ok") == EVERYBODYS
    assert found["rights"]["found"].startswith(f"you have no rights in namespace `{place.name}`")
    assert "bind the ClusterRole `devctl-user`" in found["rights"]["fix"]
    role = ("create", "role", "some", "-n", place.name, "--verb=get,list,watch,create")
    kubectl(*role, "--resource=devservers.devops.yourcompany.com,pods")
    account = f"--serviceaccount={place.name}:other"
    kubectl("create", "rolebinding", "some", "-n", place.name, "--role=some", account)
    found = findings(replace(place.user, kubeconfig=file))
    assert found["rights"]["state"] == "warning"
    assert "delete devservers, get pods/exec" in found["rights"]["found"]


def test_an_operator_that_is_away(place: UserPlace, kubectl: Kubectl) -> None:
    scaled = ("-n", SYSTEM, "scale", "deployment", "devctl-operator")
    kubectl(*scaled, "--replicas=0")
    try:
        found = findings(place.administrator, 1)
    finally:
        kubectl(*scaled, "--replicas=1")
        settled(kubectl)
    assert states(found, "failed") == {"operator"}
    assert found["operator"]["found"] == "it is scaled to 0: no request is handled"
    scale = "kubectl -n devctl-system scale deployment devctl-operator --replicas=1"
    assert found["operator"]["fix"] == f"`{scale}`"
    # Who may not look there is not worried.
    assert findings(place.user)["operator"]["state"] == "skipped"


def nobody_listens(config: Any) -> None:
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"


def revoked_token(config: Any) -> None:
    config["users"][0]["user"] = {"token": "ended"}


@pytest.mark.parametrize(
    ("broken", "failed", "well", "fix"),
    [
        (nobody_listens, "reachability", BEFORE, CHECK),
        (revoked_token, "credentials", REACHED, LOG_IN),
    ],
)
def test_what_rests_on_what_failed_is_left_out(  # noqa: PLR0913, PLR0917 - a row of the table
    place: UserPlace,
    tmp_path: Path,
    broken: Callable[[Any], None],
    failed: str,
    well: set[str],
    fix: str,
) -> None:
    config = json.loads(place.user.kubeconfig.read_text())
    broken(config)
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    user = replace(place.user, kubeconfig=file)
    found = findings(user, 1)
    assert (states(found, "failed"), states(found, "ok")) == ({failed}, well)
    assert found[failed]["fix"] == fix
    assert b"failed: 1 of 16 checks" in user("doctor").stderr
