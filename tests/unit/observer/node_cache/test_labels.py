"""Labels of nodes: what they follow, when they go, and what is left alone."""

from __future__ import annotations

import asyncio
import doctest
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control.process import Clock
from devctl_observer.judging import caches as judging
from devctl_observer.kinds.node_cache import labels as module
from devctl_observer.kinds.node_cache.family import NodeCaches
from devctl_observer.kinds.node_cache.labels import change, wanted
from devctl_observer.kinds.node_cache.model import KIND
from devctl_observer.observer import Observer
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from hypothesis import given
from hypothesis import strategies as st
from lightkube.resources.core_v1 import Node

from devctl.api.node_cache import PREFIX, SILENT_SECONDS
from unit.observer.activity import Steady
from unit.observer.objects import node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.control.kind import Kind
    from devctl_observer.judging.model import Meta

OPT = f"{PREFIX}model.opt"
KEY = Key("", "node-a")


def entry(name: str = "opt", status: str = "ready", *, present: bool = True) -> dict[str, Any]:
    return {"name": name, "status": status, "present": present}


class FakeApi:
    """Remembers what is written."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str, Mapping[str, str | None]]] = []

    async def label(self, kind: Kind[Any], meta: Meta, labels: Mapping[str, str | None]) -> bool:
        assert kind.path(meta) == f"api/v1/nodes/{meta.name}"
        self.written.append((meta.name, meta.uid, labels))
        return True


class Alone:
    """A process that has this kind alone."""

    def __init__(self) -> None:
        self.api, self.steady = FakeApi(), Steady()
        clock = Clock(steady=self.steady)
        self.observer = Observer(cast("Any", None), cast("Any", self.api), clock, "node_cache")
        (family,) = self.observer.families
        assert isinstance(family, NodeCaches)
        self.family = family
        self.added: list[Key] = []
        family.queue.add = self.added.append  # type: ignore[method-assign,assignment]

    def node(self, **labels: str) -> None:
        found = node("node-a", labels={key.replace("__", "/"): v for key, v in labels.items()})
        self.observer.children.nodes.put(KEY, 0, node_facts(found))

    def report(self, version: int, **lists: Any) -> None:
        metadata = {"name": "node-a", "uid": "s", "resourceVersion": str(version)}
        self.family.store.put(KEY, version, KIND.parse({"metadata": metadata, "status": lists}))

    def look(self) -> float | None:
        return asyncio.run(self.family.controller.look(KEY))


@pytest.fixture
def alone() -> Alone:
    return Alone()


def test_examples() -> None:
    for each in (module, judging):
        assert doctest.testmod(each).failed == 0


def test_a_node_is_labelled_for_what_is_there_as_the_plan_wants_it() -> None:
    status = {
        "images": [entry("vllm"), entry("late", "pulling", present=False)],
        "gitRepos": [entry("vllm"), entry("sick", "failed")],
        "models": [entry("old", "pulling"), entry("odd", present=False)],
        "errors": ["no"],
        "lastUpdate": "2026-11-26T00:00:00Z",
    }
    assert wanted(status) == {f"{PREFIX}image.vllm": "ready", f"{PREFIX}git.vllm": "ready"}
    assert wanted({}) == {}


@given(
    labels=st.dictionaries(
        st.text(max_size=9) | st.text(max_size=9).map(PREFIX.__add__), st.text()
    ),
    wants=st.dictionaries(st.text(max_size=9).map(PREFIX.__add__), st.just("ready")),
)
def test_a_change_leads_to_exactly_what_is_wanted_and_leaves_the_rest(
    labels: dict[str, str], wants: dict[str, str]
) -> None:
    changed = change(labels, wants)
    after = {k: v for k, v in (labels | changed).items() if v is not None}
    others = {k: v for k, v in labels.items() if not k.startswith(PREFIX)}
    assert after == others | wants
    assert all(key.startswith(PREFIX) for key in changed)
    assert change(after, wants) == {}


def test_labels_follow_the_report(alone: Alone) -> None:
    alone.node(gpu="a")
    alone.report(1, models=[entry()])
    alone.look()
    alone.node(gpu="a", **{OPT: "ready"})
    alone.look()
    alone.report(2, models=[entry(status="failed")])
    alone.look()
    assert alone.api.written == [("node-a", "", {OPT: "ready"}), ("node-a", "", {OPT: None})]


def test_an_agent_that_says_nothing_for_three_reports_has_nothing_ready(alone: Alone) -> None:
    alone.node()
    alone.report(1, models=[entry()])
    wait = alone.look()
    alone.node(**{OPT: "ready"})
    assert wait is not None
    assert wait > SILENT_SECONDS == 900
    alone.steady.now += 600
    alone.report(2, models=[entry()])
    alone.look()
    alone.steady.now += 600
    alone.look()
    assert len(alone.api.written) == 1, "it has reported meanwhile"
    alone.steady.now += 301
    assert alone.look() is None
    assert alone.api.written[1:] == [("node-a", "", {OPT: None})]
    alone.node()
    alone.report(3, models=[entry()])
    alone.look()
    assert alone.api.written[2:] == [("node-a", "", {OPT: "ready"})]


def test_without_a_report_or_a_node_there_is_nothing_to_hold(alone: Alone) -> None:
    alone.report(1, models=[entry()])
    alone.look()
    assert alone.api.written == []
    alone.family.store.drop(KEY)
    alone.node(**{OPT: "ready", f"{PREFIX}git.x": "odd", "gpu": "a"})
    assert alone.look() is None
    assert alone.api.written == [("node-a", "", {f"{PREFIX}git.x": None, OPT: None})]


def test_which_changes_of_a_node_matter(alone: Alone) -> None:
    plain = node_facts(node("node-a", labels={"gpu": "a"}))
    other = node_facts(node("node-a", labels={"gpu": "b"}))
    marked = node_facts(node("node-a", labels={"gpu": "a", OPT: "ready"}))
    for old, new in (
        (None, plain),
        (plain, other),
        (plain, marked),
        (marked, plain),
        (plain, None),
    ):
        alone.observer.node(old, new)
    assert alone.added == [KEY] * 3


def test_a_process_of_its_own_watches_nothing_else(alone: Alone) -> None:
    assert [each.kind for each in alone.observer.shared] == [Node]
    assert alone.family.first.optional
    assert alone.observer.families[0].others == ()
