"""What a run's node had when its pod got there, and what that saved."""

from __future__ import annotations

import doctest
from typing import Any

from devctl_observer.judging.caches import Contents, contents_of
from devctl_observer.kinds.vllm_run import caches as module
from devctl_observer.kinds.vllm_run.caches import judge_cache
from devctl_observer.kinds.vllm_run.observed import RunCaches
from devctl_observer.watching.children import Children
from devctl_observer.watching.store import Key

from unit.observer.vllm_run.things import NAME, NAMESPACE, STARTED, pod, run, seen, told

PLAN: list[dict[str, Any]] = [
    {"type": "image", "name": "alias", "image": {"ref": "docker.io/library/i:1"}},
    {"type": "image", "name": "pinned", "image": {"ref": "i:1"}},
    {"type": "gitRepo", "name": "main", "gitRepo": {"url": "https://host/vllm.git"}},
    {"type": "model", "name": "opt", "model": {"repoId": "facebook/opt-125m"}},
    {"type": "model", "name": "big", "model": {"repoId": "x/big"}},
]
READY = {"status": "ready", "present": True}
PULLING = {"status": "pulling", "present": False}


def contents(**lists: Any) -> Contents:
    return contents_of({"status": lists})


FULL = contents(
    images=[{"name": "pinned", **READY, "fetchSeconds": 90}],
    gitRepos=[{"name": "main", **READY, "fetchSeconds": 7}],
    models=[
        {"name": "opt", **READY, "fetchSeconds": 600},
        {"name": "big", **PULLING, "fetchSeconds": 9},
    ],
)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_what_is_ready_saves_the_time_that_it_took() -> None:
    spec = run(repoName="main", models=["opt", "big", "unknown"]).spec
    assert judge_cache(spec, PLAN, FULL) == {
        "image": "ready",
        "repository": "ready",
        "models": [{"name": "big", "state": "pulling"}, {"name": "opt", "state": "ready"}],
        "savedSeconds": 697,
    }


def test_an_image_counts_once_by_its_name_or_its_reference() -> None:
    twice = contents(images=[{"name": n, **READY, "fetchSeconds": 90} for n in ("alias", "pinned")])
    by_name = run(image="", imageName="alias").spec
    for spec in (run().spec, by_name):
        assert judge_cache(spec, PLAN, twice) == {"image": "ready", "savedSeconds": 90}
    assert judge_cache(by_name, PLAN, {}) == {"image": "absent", "savedSeconds": 0}


def test_an_image_that_was_there_before_the_agent_saves_what_nobody_knows() -> None:
    found = contents(images=[{"name": "pinned", **READY}])
    assert judge_cache(run().spec, PLAN, found) == {"image": "ready", "savedSeconds": 0}


def test_a_run_that_needs_nothing_of_the_plan_says_nothing() -> None:
    assert judge_cache(run(image="other:1").spec, PLAN, FULL) is None
    assert judge_cache(run().spec, [], FULL) is None
    assert "cache" not in told(seen(run(), pod(), plan=[], cached=FULL))


def test_it_is_judged_when_the_pod_gets_its_node_and_stays() -> None:
    waiting = seen(run(), pod("Pending", node=None), plan=PLAN, cached=FULL)
    assert "cache" not in told(waiting)
    new = {"waiting": {"reason": "ContainerCreating"}}
    placed = told(seen(run(), pod("Pending", state=new), plan=PLAN, cached=FULL))
    assert placed["cache"] == {"image": "ready", "savedSeconds": 90}
    # What the node has later, or not any more, was not so for this run.
    for status in (placed, placed | STARTED):
        later = seen(run(status), pod(), plan=PLAN, cached={})
        assert told(later)["cache"] == placed["cache"]
    ended = run(placed | STARTED | {"phase": "Succeeded", "finishedAt": STARTED["startedAt"]})
    assert told(seen(ended, None, plan=PLAN, cached={}))["cache"] == placed["cache"]


def test_a_pod_that_is_created_again_elsewhere_is_judged_again() -> None:
    new = {"waiting": {"reason": "ContainerCreating"}}
    placed = told(seen(run(), pod("Pending", state=new), plan=PLAN, cached=FULL))
    gone = told(seen(run(placed), None, plan=PLAN))
    assert "cache" not in gone
    moved = seen(run(placed), pod("Pending", node="n2", state=new), plan=PLAN, cached={})
    assert told(moved)["cache"] == {"image": "absent", "savedSeconds": 0}


def test_a_run_that_has_started_is_not_judged_afterwards() -> None:
    assert "cache" not in told(seen(run(STARTED), pod(), plan=PLAN, cached=FULL))


def test_the_caches_are_those_of_the_pods_node() -> None:
    children = Children()
    plans, nodes = (followed.convert for followed in children.caches.followed)
    thing = {"metadata": {"resourceVersion": "7"}, "spec": {"items": PLAN}}
    children.caches.plans.put(Key("", "default"), 7, plans(thing))
    for name in ("n1", "n2"):
        status = {"models": [{"name": name, **READY}]}
        children.caches.nodes.put(Key("", name), 1, nodes({"status": status}))
    known = RunCaches(children)
    key = Key(NAMESPACE, NAME)
    assert known.observe(key, run()).cached == {}
    children.pods.put(Key(NAMESPACE, f"{NAME}-vllm-pod"), 1, pod())
    found = known.observe(key, run())
    assert list(found.cached) == [("model", "n1")]
    assert (list(found.plan), known.plan) == (PLAN, "7")
