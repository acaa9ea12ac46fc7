"""The commands that change servers: stop, start, extend, delete; and homes."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.cli.delete import volumes
from devctl.client.homes import Home
from unit.client.objects import CLAIMS, NAMESPACE, PODS, SERVERS, flavor, home, pod, server

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def lab(api: FakeApi) -> FakeApi:
    """A server of two pods, with homes; and homes of one that is gone."""
    api.add(SERVERS, server("lab", replicas=2))
    api.add(PODS, pod("lab-0", "home-lab-0"), pod("lab-1", "home-lab-1"))
    api.add(CLAIMS, home("lab", 0), home("lab", 1), home("gone"), home("odd", ours=False))
    return api


def spec(api: FakeApi) -> Any:
    return api.things[SERVERS, NAMESPACE, "lab"]["spec"]


def ends(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of a deleted server end when they are looked at for the third time."""
    looks = iter(range(10))

    def sleep(_seconds: float) -> None:
        if next(looks) == 1:
            api.drop(PODS, "lab-0")
            api.drop(PODS, "lab-1")

    # The module's own name for time: other threads sleep meanwhile, and these are no looks.
    clock = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
    monkeypatch.setattr("devctl.client.waiting.time", clock)


def test_stop_and_start(lab: FakeApi, devctl: Devctl) -> None:
    found = devctl("stop", "lab")
    assert found == (0, "devserver/lab stopped\n", "next: `devctl start lab`\n")
    assert spec(lab)["stopped"] is True
    found = devctl("start", "lab")
    assert (found.code, found.stdout) == (0, "devserver/lab started\n")
    assert found.stderr == "see its state with `devctl describe lab`\n"
    assert spec(lab)["stopped"] is False


def test_stop_waits_when_it_is_told_to(lab: FakeApi, devctl: Devctl) -> None:
    lab.then = [lambda: lab.get(SERVERS, "lab").update(status=server("lab", "Stopped")["status"])]
    found = devctl("stop", "lab", "--wait")
    assert found.code == 0
    assert found.stderr.splitlines()[0] == "lab: asked to stop"


@pytest.mark.usefixtures("lab")
def test_start_that_waits(devctl: Devctl) -> None:
    found = devctl("start", "lab", "--wait")
    assert found.stderr.splitlines()[-1] == "`lab` is ready; next: `devctl ssh lab`"


def test_extend(lab: FakeApi, devctl: Devctl) -> None:
    lab.get(SERVERS, "lab")["metadata"]["creationTimestamp"] = datetime.now(UTC).isoformat()
    found = devctl("extend", "lab", "--ttl", "3d", "--idle", "2h")
    assert (found.code, found.stdout) == (0, "devserver/lab extended\n")
    assert found.stderr.startswith("it expires in ")
    assert found.stderr.endswith("; its files are kept\n")
    assert spec(lab)["lifecycle"]["timeToLive"] == pytest.approx(3 * 86400, abs=5)
    assert spec(lab)["lifecycle"]["idleTimeout"] == "2h"


def test_delete_keeps_the_homes_and_says_how_to_go_on(lab: FakeApi, devctl: Devctl) -> None:
    found = devctl("delete", "lab")
    assert (found.code, found.stdout) == (0, "devserver/lab deleted\n")
    assert found.stderr == (
        "its files are kept in home-lab-0, home-lab-1 (2 of 1Gi):\n"
        "  `devctl create lab` creates a server with them\n"
        "  `devctl homes delete --server lab` deletes them\n"
    )
    assert lab.names(SERVERS) == []
    assert len(lab.names(CLAIMS)) == 4


def test_delete_that_waits(lab: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch) -> None:
    ends(lab, monkeypatch)
    found = devctl("delete", "lab", "--wait")
    assert found.code == 0
    assert found.stderr.splitlines()[:2] == ["lab: asked to end", "lab: 2 of its pods still exist"]


def test_delete_with_the_homes(
    lab: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(lab, monkeypatch)
    found = devctl("delete", "lab", "--delete-home", "--confirm=lab")
    assert found.code == 0
    assert found.stdout.splitlines() == [
        "devserver/lab deleted",
        "persistentvolumeclaim/home-lab-0 deleted",
        "persistentvolumeclaim/home-lab-1 deleted",
    ]
    assert lab.names(CLAIMS) == ["home-gone-0", "home-odd-0"]


def test_homes_of_a_server_that_is_gone_can_be_deleted_by_its_name(
    lab: FakeApi, devctl: Devctl
) -> None:
    found = devctl("delete", "gone", "--delete-home", "--confirm=gone")
    assert (found.code, found.stdout) == (0, "persistentvolumeclaim/home-gone-0 deleted\n")
    assert devctl("delete", "gone", "--delete-home", "--confirm=gone").code == 3
    assert "lab" in lab.names(SERVERS)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("stop nobody", 3, "there is no server `nobody`"),
        ("stop lab nobody", 3, "there is no server `nobody`"),
        ("start nobody", 3, "there is no server `nobody`"),
        ("start Lab", 2, "`Lab` cannot be a server's name"),
        ("extend lab", 2, "nothing to extend"),
        ("extend nobody --ttl 3d", 3, "there is no server `nobody`"),
        ("extend lab --ttl 9999d", 2, "for a year at most"),
        ("delete", 2, "missing argument 'NAME...'"),
        ("delete lab nobody", 3, "there is no server `nobody`"),
        ("delete lab --delete-home", 2, "there is no terminal to ask on"),
        ("delete lab --delete-home --confirm=labs", 2, "`lab` was not confirmed"),
        ("delete odd --delete-home --confirm=odd", 3, "there is no server `odd`"),
        ("homes delete", 2, "no home is named"),
        ("homes delete home-gone-0", 2, "there is no terminal to ask on"),
        ("homes delete home-gone-0 --server gone", 2, "are both named"),
        ("homes delete home-gone-0 --confirm home-gone-1", 2, "`home-gone-0` was not confirmed"),
        ("homes delete home-odd-0 --confirm home-odd-0", 2, "`home-odd-0` is not a home"),
        ("homes delete home-lab-0 --confirm home-lab-0", 1, "pod `lab-0` uses it"),
        ("homes delete home-no-0 --confirm home-no-0", 3, "there is no home `home-no-0`"),
        ("homes delete --server no --confirm no", 3, "there are no homes of a server `no`"),
        ("homes remove", 2, "remove"),
    ],
)
def test_errors_are_two_lines_and_change_nothing(
    line: str, code: int, said: str, lab: FakeApi, devctl: Devctl
) -> None:
    found = devctl(*line.split())
    assert (found.code, found.stdout) == (code, "")
    error, fix = found.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert fix.startswith("  fix: ")
    assert not [r for r in lab.requests if r.split()[0] in {"PATCH", "DELETE"}]


def test_a_person_is_asked_for_the_name(
    lab: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devctl.cli import confirm  # noqa: PLC0415

    monkeypatch.setattr(confirm, "somebody_is_here", lambda: True)
    found = devctl("homes", "delete", "home-gone-0", typed="home-gone\n")
    assert found.code == 2
    assert "this deletes all files in home-gone-0 (1Gi)" in found.stderr
    assert "`home-gone-0` was not confirmed: nothing was deleted" in found.stderr
    assert devctl("homes", "delete", "home-gone-0", typed="").code == 130
    assert "home-gone-0" in lab.names(CLAIMS)
    found = devctl("homes", "delete", "home-gone-0", typed="home-gone-0\n")
    assert (found.code, found.stdout) == (0, "persistentvolumeclaim/home-gone-0 deleted\n")


def test_nobody_is_asked_off_a_terminal() -> None:
    from devctl.cli import confirm  # noqa: PLC0415

    assert not (sys.stdin.isatty() and confirm.somebody_is_here())


def test_homes(lab: FakeApi, devctl: Devctl) -> None:
    title, *rows = (line.split() for line in devctl("homes", "list").stdout.splitlines())
    assert title == ["NAME", "SERVER", "SIZE", "USED", "BY", "AGE"]
    assert rows == [
        ["home-gone-0", "gone", "1Gi", "nobody", "3d"],
        ["home-lab-0", "lab", "1Gi", "lab-0", "3d"],
        ["home-lab-1", "lab", "1Gi", "lab-1", "3d"],
    ]
    wide = [line.split() for line in devctl("homes", "list", "-o", "wide").stdout.splitlines()]
    assert wide[0] == [*title[:-1], "STATE", "CLASS", "AGE"]
    assert wide[1:] == [[*row[:-1], "Bound", "devctl-home", "3d"] for row in rows]
    names = devctl("homes", "list", "-o", "name").stdout.splitlines()
    assert names == [f"persistentvolumeclaim/{row[0]}" for row in rows]
    found = devctl("homes", "list", "--server", "gone", "-o", "json").stdout
    assert [item["metadata"]["name"] for item in json.loads(found)["items"]] == ["home-gone-0"]
    assert devctl("homes", "list", "-n", "x").stderr == "no homes in namespace `x`\n"
    assert lab.names(CLAIMS)


def test_volumes_in_few_words() -> None:
    homes = [Home(home("lab", number)) for number in range(3)]
    assert volumes(homes[:1]) == "home-lab-0 (1Gi)"
    assert volumes(homes) == "home-lab-0 … home-lab-2 (3 of 1Gi)"


CHANGES = ["stop lab", "start lab", "extend lab --ttl 30d", "delete lab", "create new --image i"]


@pytest.mark.parametrize("line", CHANGES)
@pytest.mark.parametrize("output", ["json", "yaml", "name", "jsonpath={.metadata.name}"])
def test_whatever_changes_something_prints_it_for_programs(
    line: str, output: str, lab: FakeApi, devctl: Devctl
) -> None:
    lab.add("devserverflavors", flavor(default=True))
    lab.get(SERVERS, "lab")["metadata"]["creationTimestamp"] = datetime.now(UTC).isoformat()
    name = line.split()[1]
    found = devctl(*line.split(), "-o", output)
    assert (found.code, found.stderr) == (0, "")
    if output in {"json", "yaml"}:
        document = yaml.safe_load(found.stdout)
        assert (document["kind"], document["metadata"]["name"]) == ("DevServer", name)
    else:
        assert found.stdout.strip() == (f"devserver/{name}" if output == "name" else name)


def test_several_are_one_list(lab: FakeApi, devctl: Devctl) -> None:
    lab.add(SERVERS, server("other"))
    found = json.loads(devctl("stop", "lab", "other", "-o", "json").stdout)
    assert found["kind"] == "List"
    assert [item["spec"]["stopped"] for item in found["items"]] == [True, True]
    path = "jsonpath={range .items[*]}{.metadata.name}={.spec.stopped};{end}"
    assert devctl("start", "lab", "other", "-o", path).stdout == "lab=False;other=False;".lower()


def test_deleted_homes_are_printed_too(lab: FakeApi, devctl: Devctl) -> None:
    found = devctl("homes", "delete", "home-gone-0", "--yes", "-o", "name")
    assert found == (0, "persistentvolumeclaim/home-gone-0\n", "")
    assert "home-gone-0" not in lab.names(CLAIMS)


@pytest.mark.parametrize("line", [*CHANGES, "list", "status", "describe lab", "homes list"])
@pytest.mark.parametrize(
    ("output", "said"),
    [("xml", "`xml` is not a format"), ("jsonpath={.a", "jsonpath `{.a` cannot be used")],
)
def test_a_format_that_is_none_is_refused_before_anything_is_done(
    line: str, output: str, said: str, lab: FakeApi, devctl: Devctl
) -> None:
    found = devctl(*line.split(), "-o", output)
    assert (found.code, found.stdout) == (2, "")
    assert said in found.stderr
    assert lab.requests == []
