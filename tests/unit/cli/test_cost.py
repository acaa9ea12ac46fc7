"""`devctl cost`, and what a server has cost beside its other facts."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from devctl.api.prices import HOUR, Price
from devctl.api.usage import OTHERS, Amounts, LineKey, write_line
from devctl.client.usage import this_month
from unit.client.fake_cluster import USER
from unit.client.objects import NAMESPACE, SERVERS, server

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi

EUR, USD = Price(1_200_000, 2_500_000, "EUR"), Price(500_000, 0, "USD")
LAB = LineKey(USER, "DevServer", "lab", "uid-lab", "gpu", "vision", EUR)


def amounts(key: LineKey, hours: int, idle: int = 0, saved: int = 0, gpus: int = 1) -> Amounts:
    costs = (key.price.cost(h * HOUR, h * HOUR * gpus) for h in (hours, idle, saved))
    return Amounts(hours * HOUR, hours * HOUR * gpus, idle * HOUR, saved * HOUR, *costs)


def book(*lines: tuple[LineKey, Amounts], month: str = "", namespace: str = NAMESPACE) -> Any:
    metadata = {"name": month or this_month(), "namespace": namespace}
    spec = {"lines": [write_line(key, found) for key, found in lines]}
    return {"metadata": metadata, "spec": spec}


@pytest.fixture
def spent(api: FakeApi) -> FakeApi:
    jobs = LineKey(USER, "EphemeralAccelerationJob")
    bob = LAB._replace(owner="bob", name="other", uid="uid-other", price=USD, team="")
    ours = LineKey(USER, "GPUWorkload", flavor="gpu", price=Price(0, 3_000_000, "EUR"))
    mine = [(LAB, amounts(LAB, 10, 2, 3)), (jobs, Amounts(seconds=1800))]
    mine.append((ours, amounts(ours, 1, gpus=2)))
    theirs = [(bob, amounts(bob, 4))]
    cheaper = LAB._replace(price=Price(600_000, 0, "EUR"))
    api.add("usages", book(*mine, *theirs, (cheaper, amounts(cheaper, 1))))
    api.add("usages", book((bob, amounts(bob, 1)), namespace="dev-bob"))
    api.add("usages", book((LAB, amounts(LAB, 100)), month="2026-02"))
    return api


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_mine_by_server_and_currencies_apart(spent: FakeApi, devctl: Devctl) -> None:
    assert rows(devctl("cost").stdout) == [
        ["SERVER", "HOURS", "GPU", "HOURS", "IDLE", "HOURS", "SPENT", "IDLE", "SAVED"],
        ["(jobs)", "0.5"],
        ["(workloads)", "1.0", "2.0", "6.00", "EUR"],
        ["lab", "11.0", "11.0", "2.0", "37.60", "EUR", "7.40", "EUR", "11.10", "EUR"],
        ["TOTAL", "0.5"],
        ["TOTAL", "12.0", "13.0", "2.0", "43.60", "EUR", "7.40", "EUR", "11.10", "EUR"],
    ]
    assert spent.requests[-1] == "GET usages"


@pytest.mark.usefixtures("spent")
def test_everyones_by_user_flavor_and_team(devctl: Devctl) -> None:
    assert ["bob", "4.0", "4.0", "2.00", "USD"] in rows(devctl("cost", "--by", "user").stdout)
    everywhere = rows(devctl("cost", "--by", "user", "-A").stdout)
    assert ["bob", "5.0", "5.0", "2.50", "USD"] in everywhere
    flavors = rows(devctl("cost", "-A", "--by", "flavor").stdout)
    assert [line[0] for line in flavors] == ["FLAVOR", "(none)", "gpu", "gpu", *["TOTAL"] * 3]
    team = rows(devctl("cost", "--team", "vision").stdout)
    assert [line[:2] for line in team[1:]] == [[NAMESPACE, "lab"]]
    assert "there is no team `nobody`" in devctl("cost", "--team", "nobody").stderr


@pytest.mark.usefixtures("spent")
def test_another_month(devctl: Devctl) -> None:
    assert "370.00" in devctl("cost", "--month", "2026-02").stdout
    assert "nothing of yours ran in 2026-01" in devctl("cost", "--month", "2026-01").stderr
    for wrong in ("2026-1", "2026-13", "november"):
        assert "is not a month" in devctl("cost", "--month", wrong).stderr


def test_programs_get_exact_amounts(spent: FakeApi, devctl: Devctl) -> None:
    tiny = LAB._replace(price=Price(1, 0, "EUR"), name=OTHERS, kind="", uid="")
    spent.add("usages", book((tiny, amounts(tiny, 1))))
    found = json.loads(devctl("cost", "-o", "json").stdout)
    assert found["server"][0]["spent"] == found["total"][0]["spent"] == "0.000001"
    (line,) = csv.DictReader(io.StringIO(devctl("cost", "--by", "flavor", "-o", "csv").stdout))
    assert (line["flavor"], line["seconds"], line["spent"]) == ("others", "3600", "0.000001")


def test_a_server_says_what_it_has_cost(spent: FakeApi, devctl: Devctl) -> None:
    lab = server("lab")
    lab["metadata"]["uid"] = "uid-lab"
    spent.add(SERVERS, lab)
    said = "37.60 EUR this month, 7.40 EUR of it idle; 11.10 EUR saved by stopping"
    assert said in " ".join(devctl("describe", "lab").stdout.split())
    assert "37.60 EUR" in devctl("list", "-o", "wide").stdout
    assert "SPENT" not in devctl("list").stdout
    # Neither is worth an error.
    spent.refusals["GET", "usages"] = (403, "no")
    assert "Spent" not in devctl("describe", "lab").stdout
    assert devctl("list", "-o", "wide").code == 0
