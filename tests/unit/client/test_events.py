"""Events: those that concern a server, in the order in which they came."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.events import Event, Events
from devctl.errors import UsageError
from unit.client.objects import EVENTS, NOW, ago, event

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def events(api: FakeApi) -> Events:
    return Events(api.cluster())


def test_what_an_event_says() -> None:
    found = Event(event("Pod/lab-0", "FailedMount", "no volume \n", minutes=3))
    assert (found.about, found.reason, found.message) == ("pod/lab-0", "FailedMount", "no volume")
    assert (found.type, found.count, found.at) == ("Warning", 1, NOW - timedelta(minutes=3))


def test_the_last_time_counts_however_it_is_written() -> None:
    raw = event("Pod/lab-0", minutes=9)
    raw["series"] = {"lastObservedTime": ago(minutes=1), "count": 7}
    assert (Event(raw).at, Event(raw).count) == (NOW - timedelta(minutes=1), 7)
    raw = event("Pod/lab-0", minutes=9) | {"lastTimestamp": None, "firstTimestamp": None}
    raw["eventTime"] = "2026-01-02T11:58:00.123456Z"
    assert Event(raw).at.minute == 58
    raw["eventTime"] = None
    assert Event(raw).at == NOW - timedelta(minutes=9)


def test_those_of_a_server_are_its_own_its_pods_and_its_homes(api: FakeApi, events: Events) -> None:
    wanted = [
        event("DevServer/lab", minutes=9),
        event("StatefulSet/lab", minutes=8),
        event("PersistentVolumeClaim/home-lab-0", minutes=7),
        event("Pod/lab-12", minutes=6),
    ]
    others = [
        event("DevServer/lab-0", minutes=1),
        event("Pod/lab-2-0", minutes=1),
        event("Pod/lab", minutes=1),
        event("Pod/home-lab-0", minutes=1),
        event("PersistentVolumeClaim/lab-0", minutes=1),
        event("PersistentVolumeClaim/home-lab-00", minutes=1),
        event("Node/lab", minutes=1),
    ]
    api.add(EVENTS, *reversed(wanted), *others)
    assert [found.raw["involvedObject"] for found in events.list("lab")] == [
        each["involvedObject"] for each in wanted
    ]
    assert len(events.list()) == len(wanted) + len(others)
    with pytest.raises(UsageError, match="cannot be a server's name"):
        events.list("../lab")


OF_LAB = {
    "Pod": re.compile(r"lab-\d+"),
    "PersistentVolumeClaim": re.compile(r"home-lab-(0|[1-9][0-9]*)"),
    "DevServer": re.compile("lab"),
}


@given(
    st.text(max_size=30) | st.from_regex(r"(home-)?lab(-[0-9]{0,3})?", fullmatch=True),
    st.sampled_from(["Pod", "PersistentVolumeClaim", "DevServer", ""]),
)
def test_an_event_is_about_a_server_by_kind_and_name(name: str, kind: str) -> None:
    raw = event("Pod/lab-0") | {"involvedObject": {"kind": kind, "name": name}}
    expected = kind in OF_LAB and OF_LAB[kind].fullmatch(name) is not None
    assert Event(raw).is_about("lab") is expected


def test_news_come_once(api: FakeApi, events: Events) -> None:
    api.add(EVENTS, event("Pod/lab-0", "Scheduled"), event("Pod/other-0"))
    api.then = [
        lambda: api.add(EVENTS, event("Pod/other-0", "Pulled")),
        lambda: api.drop(EVENTS, "pod-lab-0.scheduled.2026-01-02t115500z"),
        lambda: api.add(EVENTS, event("Pod/lab-0", "Pulled")),
    ]
    seen = [found.reason for found in islice(events.watch("lab"), 2)]
    assert seen == ["Scheduled", "Pulled"]
