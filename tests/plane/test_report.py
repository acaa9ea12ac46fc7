"""`devctl admin report`: who uses what, as devctl's administrators see it on a real API server."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.command_line import CommandLine
from support.one import One
from support.servers import SMALL, DevServer, apply_flavor, wait_until
from support.tenants import Tenants, server
from support.user_place import account_kubeconfig

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import USER
from devctl.api.quantities import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed", "enforced")
ACCOUNT = "reporter"


@pytest.fixture
def administrator(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> Iterator[CommandLine]:
    """The shell of someone with no more rights than devctl's administrators have."""
    own = account_kubeconfig(kubectl, kubeconfig, namespace, ACCOUNT, tmp_path)
    role = ("--clusterrole=devctl-administrator", f"--serviceaccount={namespace}:{ACCOUNT}")
    kubectl("create", "clusterrolebinding", namespace, *role)
    yield CommandLine(own, namespace, tmp_path)
    kubectl("delete", "clusterrolebinding", namespace)


@pytest.fixture
def flavor(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    yield apply_flavor(kubectl, f"{namespace}-flavor", resources=SMALL)
    kubectl.api.delete("devserverflavor", f"{namespace}-flavor")


@pytest.fixture
def users(kubectl: Kubectl, namespace: str) -> Iterator[list[One]]:
    """A user with a quota, and one of a team."""
    found = [One(kubectl.api, USER, f"{namespace[-6:]}-{name}") for name in ("a", "b")]
    found[0].apply(username=f"{found[0].name}@company.com", quota={"servers": 4})
    found[1].apply(username=f"={found[1].name}", team=namespace[-6:])
    found[0].wait("Ready")
    yield found
    for user in found:
        kubectl.api.delete(f"{USER.plural}.{USER.group}", user.name)
        kubectl.api.delete("namespace", namespace_of(user.name))


def rows_of(administrator: CommandLine, *options: str) -> dict[str, Any]:
    """The rows by user, or by owner where there is none."""
    found = json.loads(administrator.must("admin", "report", "-o", "json", *options))
    return {row["user"] or row["owner"]: row for row in found["users"]}


def test_who_uses_what(
    administrator: CommandLine, users: list[One], kubectl: Kubectl, flavor: str, namespace: str
) -> None:
    one, two = users
    owner, home = f"{one.name}@company.com", "3Mi"
    common = {"flavor": flavor, "persistentHomeSize": home, "image": "any:1"}
    space = Tenants(kubectl, namespace_of(one.name))
    space.create(owner, server("lab", owner=owner, stopped=False, **common), keep=True)
    space.create(owner, server("off", owner=owner, **common), keep=True)
    other = f"{namespace[-6:]}-eve"
    elsewhere = DevServer(kubectl, namespace, {"owner": other, **common}, "lab")
    elsewhere.apply()
    for each in (DevServer(kubectl, space.namespace, {}, "lab"), elsewhere):
        each.wait("Ready")
        assert each.status["requests"] == {**SMALL["limits"], **SMALL["requests"]}

    # A server is stopped before its home is there, which is counted, too.
    DevServer(kubectl, space.namespace, {}, "off").wait("Applied")

    def is_counted() -> bool:
        quota = rows_of(administrator)[one.name]["quota"]
        return bool(quota.get("servers", {}).get("used") == "2")

    wait_until(is_counted, "the quota is counted")
    wait_until(lambda: not rows_of(administrator)[one.name]["servers"]["waiting"], "it is stopped")
    found = rows_of(administrator)
    assert found[one.name] == {
        "user": one.name,
        "owner": owner,
        "team": None,
        "servers": {"running": 1, "stopped": 1, "waiting": 0, "failed": 0},
        "jobs": {"running": 0},
        "gpus": "0",
        **SMALL["requests"],
        "storage": "6Mi",
        "quota": {"servers": {"used": "2", "free": "2", "quota": "4"}},
    }
    assert found[two.name]["servers"] == dict.fromkeys(found[two.name]["servers"], 0)
    assert (found[other]["user"], found[other]["servers"]["running"]) == (None, 1)
    assert (found[other]["cpu"], found[other]["storage"]) == (SMALL["requests"]["cpu"], home)

    # What a flavor says later does not change what is held now.
    larger = {part: amounts | {"cpu": "1"} for part, amounts in SMALL.items()}
    apply_flavor(kubectl, flavor, resources=larger)
    assert rows_of(administrator)[one.name]["cpu"] == SMALL["requests"]["cpu"]

    assert [*rows_of(administrator, "--team", namespace[-6:])] == [two.name]
    text = administrator.must("admin", "report", "--team", namespace[-6:], "-o", "csv")
    assert [row["owner"] for row in csv.DictReader(io.StringIO(text))] == [f"'={two.name}", ""]
    lines = administrator.must("admin", "report", "--sort-by", "memory").splitlines()
    assert lines[0].split()[:2] == ["USER", "OWNER"]
    assert lines[-1].split()[0] == "TOTAL"
    column = lines[0].index("MEMORY")
    cells = [parse_quantity(line[column:].split()[0]) for line in lines[1:-1]]
    assert cells == sorted(cells)
