"""`devctl admin` and `devctl quota`."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devctl.cli.csv_format import csv_text
from unit.client.objects import NAMESPACE, flavor, home, server

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


@pytest.mark.parametrize(
    "command",
    [("quota",), ("admin", "quota"), ("admin", "user", "list"), ("admin", "report")],
)
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


def test_a_flavor_is_created_with_a_price(api: FakeApi, devctl: Devctl) -> None:
    create = ("admin", "flavor", "create", "gpu", "--cpu", "8", "--memory", "32Gi")
    devctl(*create, "--price", "1.20", "--gpu-price", "2.50", "--currency", "EUR")
    price = {"perHour": "1.20", "perGPUHour": "2.50", "currency": "EUR"}
    assert api.things["devserverflavors", "", "gpu"]["spec"]["price"] == price
    assert "`1,20` is not an amount" in devctl(*create, "--price", "1,20").stderr


def test_users_and_teams_have_budgets(api: FakeApi, devctl: Devctl) -> None:
    devctl("admin", "team", "create", "vision", "--budget", "500EUR", "--refuse")
    team = api.things["devserverteams", "", "vision"]
    assert team["spec"]["budget"] == {"perMonth": "500", "currency": "EUR", "refuse": True}
    team["status"] = {
        "budget": {"month": "2026-11", "spent": "512.30", "currency": "EUR", "percent": 102}
    }
    said = "512.30 of 500.00 EUR in 2026-11, 102 %; nothing starts beyond it"
    assert said in " ".join(devctl("admin", "team", "describe", "vision").stdout.split())
    devctl("admin", "user", "create", "alice", "--budget", "20.5", "--warn-at", "50", "--no-wait")
    user = api.things["devserverusers", "", "alice"]
    budget = {"perMonth": "20.5", "currency": "USD", "warnAtPercent": 50}
    assert user["spec"]["budget"] == budget
    devctl("admin", "user", "update", "alice", "--no-budget")
    assert "budget" not in api.things["devserverusers", "", "alice"]["spec"]
    assert "is not an amount" in devctl("admin", "user", "update", "alice", "--budget", "x").stderr


def test_a_flavor_is_cordoned_and_uncordoned(api: FakeApi, devctl: Devctl) -> None:
    api.add("devserverflavors", flavor("gpu", default=True))
    found = devctl("admin", "flavor", "cordon", "gpu")
    assert found.stdout == "devserverflavor/gpu cordoned\n"
    assert "new servers now have to name another one" in found.stderr
    assert "undo: `devctl admin flavor uncordon gpu`" in found.stderr
    assert api.things["devserverflavors", "", "gpu"]["spec"]["cordoned"] is True
    found = devctl("admin", "flavor", "cordon", "gpu", "-o", "name")
    assert (found.stdout, found.stderr) == ("devserverflavor/gpu\n", "")
    lines = devctl("admin", "flavor", "list").stdout.splitlines()
    assert "STATE" in lines[0]
    assert " cordoned " in lines[1]
    found = devctl("admin", "flavor", "uncordon", "gpu")
    assert (found.stdout, found.stderr) == ("devserverflavor/gpu uncordoned\n", "")
    again = devctl("admin", "flavor", "uncordon", "gpu")
    assert again.stdout == "devserverflavor/gpu already uncordoned\n"
    assert devctl("admin", "flavor", "cordon", "none").code == 3


@pytest.fixture
def used(api: FakeApi) -> FakeApi:
    """Two users, one of whom holds GPUs and has a name that is a formula, and someone else."""
    for name, username, team in (("alice", "=alice", "vision"), ("bob", "bob@company.com", "")):
        spec = {"username": username, **({"team": team} if team else {})}
        api.add(USERS, {"metadata": {"name": name, "generation": 1}, "spec": spec})
    api.add(QUOTAS, quota("alice", NAMESPACE))
    requests = {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": "2"}
    api.add("devservers", server(replicas=2, requests=requests), server("off", "Stopped"))
    other = server("theirs", spec={"owner": "@eve", "flavor": "gone"})
    other["metadata"]["namespace"] = "research"
    api.add("devservers", other)
    api.add("persistentvolumeclaims", home(size="10Gi"))
    return api


REPORT = [
    [
        *("USER", "OWNER", "TEAM", "RUNNING", "STOPPED", "WAITING", "FAILED", "JOBS"),
        *("GPU", "CPU", "MEMORY", "STORAGE", "QUOTA"),
    ],
    ["alice", "=alice", "vision", *"11004", "3", "4Gi", "10Gi", "cpu", "12%"],
    ["bob", "bob@company.com", *"0000000", "0"],
    ["(none)", "@eve", *"1000000", "0"],
    ["TOTAL", *"21004", "3", "4Gi", "10Gi"],
]
"""The words of the table; there is none in the column FAILED."""


def test_who_uses_what(used: FakeApi, devctl: Devctl) -> None:  # noqa: ARG001 - what there is
    found = devctl("admin", "report")
    assert [line.split() for line in found.stdout.splitlines()] == REPORT
    assert found.stderr == "not included, as their flavors do not exist: `research/theirs`\n"
    for key, order in (("gpu", "bob (none) alice"), (".servers.running", "bob alice (none)")):
        lines = devctl("admin", "report", "--sort-by", key).stdout.splitlines()
        assert [line.split()[0] for line in lines[1:]] == [*order.split(), "TOTAL"]
    assert devctl("admin", "report", "--sort-by", "colour").code == 2


def test_who_uses_what_for_programs(used: FakeApi, devctl: Devctl) -> None:  # noqa: ARG001 - what there is
    found = json.loads(devctl("admin", "report", "-o", "json").stdout)
    assert [row["user"] for row in found["users"]] == ["alice", "bob", None]
    assert found["users"][0]["quota"] == {"cpu": {"used": "500m", "free": "3.5", "quota": "4"}}
    assert (found["total"]["gpus"], found["total"]["servers"]["running"]) == ("4", 2)
    paths = devctl("admin", "report", "-o", "jsonpath={.users[*].gpus}")
    assert paths.stdout == "4 0 0"
    rows = list(csv.DictReader(io.StringIO(devctl("admin", "report", "-o", "csv").stdout)))
    assert [row["user"] for row in rows] == ["alice", "bob", "(none)", "TOTAL"]
    # No spreadsheet computes names.
    assert [row["owner"] for row in rows] == ["'=alice", "bob@company.com", "'@eve", ""]
    assert [row["gpus"] for row in rows] == ["4", "0", "0", "4"]
    assert (rows[0]["quota_cpu_used"], rows[0]["quota_cpu"], rows[0]["quota_gpus"]) == (
        *("500m", "4"),
        "",
    )


def test_who_uses_what_in_a_team(used: FakeApi, devctl: Devctl) -> None:
    lines = devctl("admin", "report", "--team", "vision").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["USER", "alice", "TOTAL"]
    assert devctl("admin", "report", "--team", "nlp").code == 3
    used.add("devserverteams", {"metadata": {"name": "nlp"}, "spec": {}})
    empty = devctl("admin", "report", "--team", "nlp")
    assert (empty.code, empty.stdout, empty.stderr) == (0, "", "team `nlp` has no members\n")


@example(["\x1f="])
@given(st.lists(st.text(), min_size=1))
def test_no_cell_is_a_formula_or_breaks_a_line(cells: list[str]) -> None:
    text = csv_text(["title"], [cells])
    assert text.endswith("\n")
    assert text.count("\n") == 2
    for cell in list(csv.reader(io.StringIO(text)))[1]:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_a_team_is_created_joined_and_described(api: FakeApi, devctl: Devctl) -> None:
    options = ("--flavor", "large=8+4", "--flavor", "small=20", "--members", "view")
    found = devctl("admin", "team", "create", "vision", *options)
    assert found.stdout == "devserverteam/vision created\n"
    assert found.stderr == "next: `devctl admin user update USER --team vision`\n"
    assert api.things["devserverteams", "", "vision"]["spec"] == {
        "cohort": "devctl",
        "flavors": [{"name": "large", "pods": 8, "borrow": 4}, {"name": "small", "pods": 20}],
        "members": "view",
    }
    devctl("admin", "user", "create", "alice", "--team", "vision", "--priority", "low", "--no-wait")
    assert api.things[USERS, "", "alice"]["spec"]["team"] == "vision"
    labels = {
        "devops.yourcompany.com/devserverteam": "vision",
        "devops.yourcompany.com/devserverflavor": "large",
    }
    queue = {"metadata": {"name": "vision.large", "labels": labels}}
    api.add("clusterqueues", queue | {"status": {"reservingWorkloads": 3, "pendingWorkloads": 2}})
    lines = devctl("admin", "team", "list").stdout.splitlines()
    assert lines[1].split()[:3] == ["vision", "large=8,small=20", "Pending"]
    told = [
        line.split() for line in devctl("admin", "team", "describe", "vision").stdout.splitlines()
    ]
    assert ["Users:", "alice"] in told
    assert ["large", "8", "4", "3", "2"] in told
    assert ["small", "20", "any", "-", "-"] in told


def test_a_team_is_changed_left_and_deleted(api: FakeApi, devctl: Devctl) -> None:
    devctl("admin", "team", "create", "vision", "--flavor", "large=8")
    devctl("admin", "user", "create", "alice", "--team", "vision", "--no-wait")
    devctl("admin", "team", "update", "vision", "--members", "stop")
    spec = api.things["devserverteams", "", "vision"]["spec"]
    assert (spec["members"], spec["flavors"]) == ("stop", [{"name": "large", "pods": 8}])
    assert devctl("admin", "team", "update", "vision").code == 2
    devctl("admin", "user", "update", "alice", "--no-team")
    assert not api.things[USERS, "", "alice"]["spec"].get("team")
    refused = devctl("admin", "team", "delete", "vision")
    assert (refused.code, "--confirm=vision" in refused.stderr) == (2, True)
    assert devctl("admin", "team", "delete", "vision", "--confirm=vision").code == 0
    assert not api.names("devserverteams")


def test_a_team_shares_a_volume(api: FakeApi, devctl: Devctl) -> None:
    found = devctl("admin", "team", "create", "vision", "--shared-class", "efs")
    assert (found.code, "--shared" in found.stderr) == (2, True)
    devctl("admin", "team", "create", "vision", "--shared", "1Ti", "--shared-class", "efs")
    spec = {"size": "1Ti", "storageClassName": "efs"}
    assert api.things["devserverteams", "", "vision"]["spec"]["sharedStorage"] == spec
    devctl("admin", "team", "update", "vision", "--shared", "2Ti")
    assert api.things["devserverteams", "", "vision"]["spec"]["sharedStorage"]["size"] == "2Ti"
    status = {"sharedStorage": {"claimName": "team-vision", "namespaces": ["dev-ann"]}}
    api.things["devserverteams", "", "vision"]["status"] = status
    told = devctl("admin", "team", "describe", "vision").stdout
    assert "2Ti, class efs" in told
    assert "mounted with `--shared team-vision` in 1 namespace\n" in told


@pytest.mark.parametrize("quota", ["large", "large=x", "=1", "large=1+", "large=-1"])
def test_what_is_no_quota_is_refused(api: FakeApi, devctl: Devctl, quota: str) -> None:
    found = devctl("admin", "team", "create", "vision", "--flavor", quota)
    assert found.code == 2
    assert "FLAVOR=PODS" in found.stderr
    assert not api.things
