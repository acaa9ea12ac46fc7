"""A kind for which only the status is specific."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from devctl_observer.control import standard
from devctl_observer.control.kind import kind_of
from devctl_observer.control.process import Clock, Process
from devctl_observer.control.role_controller import GRACE
from devctl_observer.control.standard import Child, Seen, Standard, StandardFamily
from devctl_observer.judging.conditions import condition, merge
from devctl_observer.judging.model import Base, Item, meta_of
from devctl_observer.watching.children import Children
from devctl_observer.watching.store import Key
from lightkube.resources.core_v1 import ConfigMap, PersistentVolumeClaim, Pod

from devctl.api.kinds import Kind
from unit.observer.objects import NOW, warning

if TYPE_CHECKING:
    from datetime import datetime

    from devctl_observer.judging.model import Transition

LABEL = "kinds.example.com/widget"
APPLIED = {"type": "Applied", "status": "True", "observedGeneration": 1, "reason": "Applied"}
REFUSED = APPLIED | {"status": "False", "reason": "Conflict", "message": "taken"}


class Spec(Base, frozen=True):
    where: str


class Widget(Item, frozen=True):
    spec: Spec


def makes(item: Widget) -> list[Child]:
    return [Child(ConfigMap, Key(item.spec.where, f"widget-{item.metadata.name}"))]


def status(seen: Seen[Widget], now: datetime) -> dict[str, Any]:
    names = [child.metadata.name for child in seen.children]
    said = condition("Ready", str(not seen.lost), "Lost" if seen.lost else "Ready", f"{names}")
    return {"conditions": merge([said], seen.item, now)}


class Place:
    """A process with such a kind, and an API server that accepts every write."""

    def __init__(self, *, namespaced: bool) -> None:
        version = "v1" if namespaced else "v2"  # lightkube knows one of each
        named = Kind("kinds.example.com", version, "Widget", "widgets", namespaced)
        self.kind, self.children, self.seconds = kind_of(named, Widget), Children(), 0.0
        self.told: list[Transition] = []
        self.wakes: list[str] = []
        self.queued: list[Key] = []
        self.key = Key("team" if namespaced else "", "one")
        process = Process(
            self.children, cast("Any", self), Clock(lambda: NOW, lambda: self.seconds)
        )
        known = Standard(self.kind, LABEL, makes, [ConfigMap], status)
        self.family = StandardFamily(known, process)
        self.children.labels = {LABEL: namespaced}
        cast("Any", self.family.queue).add = self.queued.append
        self.put()

    def put(self, *conditions: dict[str, Any]) -> None:
        self.stored: dict[str, Any] = {
            "metadata": {"name": "one", "namespace": self.key.namespace, "generation": 1},
            "spec": {"where": "team"},
            "status": {"conditions": conditions},
        }
        self.family.store.put(self.key, 1, self.kind.parse(self.stored))

    def child(self, name: str = "widget-one") -> Any:
        metadata = {"name": name, "namespace": "team", "uid": "u", "labels": {LABEL: "one"}}
        return msgspec.convert({"metadata": metadata}, ConfigMap)

    def add(self, child: Any) -> None:
        self.children.stores[ConfigMap].put(Key("team", child.metadata.name), 1, child)

    def look(self) -> float | None:
        return asyncio.run(self.family.controller.look(self.key))

    def said(self) -> tuple[Any, ...]:
        item = self.family.store.get(self.key)
        assert item is not None
        (ready,) = (c for c in item.status["conditions"] if c["type"] == "Ready")
        return ready["status"], ready["reason"], ready["message"]

    async def apply_status(self, _kind: object, _meta: object, status: dict[str, Any]) -> Any:
        conditions = self.stored["status"]["conditions"]
        others = [c for c in conditions if c["type"] == "Applied"]
        self.stored["status"] = {"conditions": [*others, *status["conditions"]]}
        return self.stored

    async def wake(self, _kind: object, _meta: object, value: str) -> Any:
        self.wakes.append(value)
        self.stored["metadata"]["annotations"] = {"kinds.example.com/wake": value}
        return self.stored

    async def tell(self, _kind: object, _meta: object, _version: str, said: Transition) -> None:
        self.told.append(said)


@pytest.fixture(params=[True, False], ids=["namespaced", "cluster"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(namespaced=request.param)


def test_a_status_is_derived_from_what_carries_the_label(place: Place) -> None:
    place.look()
    assert place.said() == ("False", "Lost", "[]")
    place.add(place.child())
    place.add(place.child("another"))
    place.look()
    assert place.said() == ("True", "Ready", "['another', 'widget-one']")
    place.look()
    assert [said.reason for said in place.told] == ["Lost", "Ready"]


def test_children_of_one_kind_are_found_by_their_class(place: Place) -> None:
    item = place.family.store.get(place.key)
    assert item is not None
    pod, claim = Pod(), PersistentVolumeClaim()
    seen = Seen(item, children=[claim, pod])
    assert (seen.of(Pod), seen.of(PersistentVolumeClaim)) == ([pod], [claim])
    assert seen.of(ConfigMap) == []


def test_a_child_that_is_being_deleted_is_not_lost_and_says_so(place: Place) -> None:
    child = place.child()
    child.metadata.deletionTimestamp = NOW
    place.add(child)
    item = place.family.store.get(place.key)
    assert item is not None
    seen = place.family.controller.observe(place.key, item)
    assert seen.lost == []
    (found,) = seen.of(ConfigMap)
    assert meta_of(found.metadata).deletion_timestamp == NOW


def test_what_is_lost_is_made_again_after_a_while_and_told_once(place: Place) -> None:
    place.put(APPLIED)
    assert place.look() == GRACE
    assert place.wakes == []
    place.seconds = GRACE
    for _ in range(2):
        place.look()
    assert len(place.wakes) == 1
    # Another loss is another cause.
    place.family.child(place.key, place.child(), None)
    assert place.queued == [place.key]
    place.look()
    assert len(place.wakes) == 2


def test_nothing_is_lost_while_the_role_is_at_work_or_refuses(place: Place) -> None:
    for conditions in ((), (REFUSED,)):
        place.put(*conditions)
        place.seconds += GRACE
        place.look()
    assert place.wakes == []


def test_it_hears_of_childs_about_its_children(place: Place) -> None:
    about = SimpleNamespace(kind="ConfigMap", namespace="team", name="widget-one")
    assert place.family.of_child(cast("Any", about)) is None
    place.add(place.child())
    assert place.family.of_child(cast("Any", about)) == place.key
    said = warning("ConfigMap", "widget-one", "FailedMount", "no")
    said.involvedObject.namespace, said.involvedObject.uid = "team", "u"
    place.children.warnings.put(Key("team", "w"), 1, said)
    item = place.family.store.get(place.key)
    assert item is not None
    assert place.family.controller.observe(place.key, item).warnings == (said,)


def test_a_refusal_of_the_roles_is_told_as_a_warning() -> None:
    after = {"conditions": [condition("Ready", "False", "Conflict", "taken")]}
    assert [said.type for said in standard.transitions({}, after)] == ["Warning"]
    assert list(standard.transitions(after, after)) == []
    assert list(standard.transitions({}, {})) == []
