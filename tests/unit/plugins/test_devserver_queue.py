"""How a server of a team waits in a queue, and when it needs a new StatefulSet."""

from __future__ import annotations

from typing import Any

import pytest
from apply.errors import ApplyError
from devserver.queue import leaves_queue, refuse_too_large
from devserver.values import values as compute
from unit.plugins.templates import rendered

from devctl.api.made_from import MadeFrom

Thing = dict[str, Any]
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
USABLE = {"state": {"running": {}}, "started": True}


def flavor(name: str, cpu: str = "1", **spec: Any) -> Thing:
    resources = {"requests": {"cpu": cpu}}
    return {"metadata": {"name": name, "generation": 1}, "spec": {"resources": resources} | spec}


def team(
    name: str = "vision", pods: int = 8, flavors: Any = ("small", "large"), **spec: Any
) -> Thing:
    borrow = {"borrow": spec.pop("borrow")} if "borrow" in spec else {}
    quotas = [{"name": each, "pods": pods, **borrow} for each in flavors]
    return {"metadata": {"name": name}, "spec": {"flavors": quotas} | spec}


def server(**spec: Any) -> Thing:
    common = {"owner": "alice", "image": "a", "persistentHomeSize": "1Gi", "flavor": "small"}
    return {"metadata": {"name": "lab", "uid": "u1"}, "spec": common | spec}


def plan(wanted: Thing, before: Thing | None = None, *, running: bool = False) -> Any:
    """The Values of a run; `before` is the StatefulSet."""
    statuses = {"containerStatuses": [USABLE]} if running else {}
    return compute(
        wanted,
        flavors=[flavor("small"), flavor("large", "2", preemptible=True)],
        stateful_sets=[before] if before else [],
        claims=(),
        pods=[{"metadata": {}, "status": statuses}] if before else [],
        teams=[team()],
        files={},
    )


def applied(made: Any) -> Thing:
    """The StatefulSet that a run leaves behind."""
    things = rendered("devserver", made.names)
    found = next(thing for thing in things if thing["kind"] == "StatefulSet")
    found["metadata"]["ownerReferences"] = [{"uid": "u1"}]
    return found


def two(nodes: int = 2) -> Thing:
    return {"mode": "distributed", "distributed": {"worldSize": nodes}}


def test_a_server_of_a_team_names_its_flavors_queue() -> None:
    found = applied(plan(server(team="vision", priority="high")))
    labels = {QUEUE: "devctl-small", PRIORITY: "devctl-high"}
    assert found["metadata"]["labels"] == labels
    template = found["spec"]["template"]["metadata"]
    assert labels.items() <= template["labels"].items()
    # Kueue's webhook would add it, and the next apply remove it.
    assert template["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] == "statefulset"


def test_other_servers_are_not_in_a_queue() -> None:
    found = applied(plan(server()))
    assert "labels" not in found["metadata"]
    template = found["spec"]["template"]["metadata"]
    assert not [key for key in {**template["labels"], **template["annotations"]} if "kueue" in key]


def test_each_start_in_a_queue_is_a_new_statefulset() -> None:
    before = applied(plan(server(team="vision", stopped=True)))
    started = plan(server(team="vision"), before)
    assert [thing["metadata"]["name"] for thing in started.remove] == ["lab"]
    # Then it stays, while it waits and while it runs.
    there = applied(started)
    assert not plan(server(team="vision"), there).remove
    assert not plan(server(team="vision"), there, running=True).remove


def test_a_server_that_is_stopped_while_it_waits_leaves_the_queue() -> None:
    there = applied(plan(server(team="vision")))
    stopped = plan(server(team="vision", stopped=True), there)
    assert [thing["metadata"]["name"] for thing in stopped.remove] == ["lab"]
    assert stopped.names["replicas"] == 0
    # Once.
    assert not plan(server(team="vision", stopped=True), applied(stopped)).remove


@pytest.mark.parametrize(("deleted", "removed"), [({}, 0), ({"deletionTimestamp": "now"}, 1)])
def test_a_running_server_is_scaled_down_and_a_preempted_one_leaves_the_queue(
    deleted: Thing, removed: int
) -> None:
    there = applied(plan(server(team="vision")))
    pod = {"metadata": deleted, "spec": {"nodeName": "a"}, "status": {}}
    assert leaves_queue(there, [pod]) is bool(removed)
    assert not leaves_queue(applied(plan(server())), [])


def test_a_start_outside_of_queues_keeps_the_statefulset() -> None:
    before = applied(plan(server(stopped=True)))
    assert not plan(server(), before).remove


@pytest.mark.parametrize("change", [{"flavor": "large"}, two(), {"priority": "low"}])
def test_who_waits_takes_up_another_shape_in_a_new_statefulset(change: Thing) -> None:
    there = applied(plan(server(team="vision")))
    changed = server(team="vision", **change)
    assert plan(changed, there).remove
    # A running server keeps its own.
    assert not plan(changed, there, running=True).remove
    assert applied(plan(changed, there, running=True))["spec"] == there["spec"]


def test_another_image_keeps_the_place_in_the_queue() -> None:
    there = applied(plan(server(team="vision")))
    changed = plan(server(team="vision", image="b"), there)
    assert not changed.remove
    assert changed.names["image"] == "b"


def test_a_stopped_server_takes_up_changes_at_its_start() -> None:
    there = applied(plan(server(team="vision", stopped=True)))
    stopped = plan(server(team="vision", stopped=True, flavor="large"), there)
    # Kueue refuses another shape even without pods.
    assert applied(stopped)["spec"]["template"] == there["spec"]["template"]
    started = plan(server(team="vision", flavor="large"), applied(stopped))
    assert started.remove
    assert applied(started)["metadata"]["labels"][QUEUE] == "devctl-large"


def test_who_joins_or_leaves_a_team_does_so_at_the_next_start() -> None:
    alone = applied(plan(server()))
    assert applied(plan(server(team="vision"), alone, running=True)) == alone
    stopped = plan(server(team="vision", stopped=True), alone)
    assert QUEUE not in applied(stopped)["metadata"].get("labels", {})
    joined = plan(server(team="vision"), applied(stopped))
    assert joined.remove
    stopped = plan(server(stopped=True), applied(joined))
    left = plan(server(), applied(stopped))
    assert left.remove
    assert "labels" not in applied(left)["metadata"]


@pytest.mark.parametrize(
    ("spec", "teams", "why"),
    [
        ({"team": "vision"}, [], "team `vision` does not exist"),
        (
            {"team": "vision"},
            [team(flavors=["large"])],
            "has no quota of flavor `small`: set spec.flavor to one of: large",
        ),
        ({"team": "vision", **two(3)}, [team(pods=2)], "can have 2 at most"),
        ({"team": "vision", **two(4)}, [team(pods=2, borrow=1), team("other")], "3 at most"),
        (
            {"team": "vision", **two(4)},
            [team(pods=2), team("other", cohort="apart")],
            "2 at most",
        ),
    ],
)
def test_what_could_never_start_does_not_block_the_queue(
    spec: Thing, teams: list[Thing], why: str
) -> None:
    with pytest.raises(ApplyError, match=why):
        refuse_too_large(MadeFrom(spec, "small", 1, {}), teams)


@pytest.mark.parametrize(
    ("cordoned", "why"),
    [({"large"}, "set spec.flavor to one of: huge"), ({"large", "huge"}, "all that it has are")],
)
def test_a_cordoned_flavor_is_not_suggested(cordoned: set[str], why: str) -> None:
    made = MadeFrom({"team": "vision"}, "small", 1, {})
    with pytest.raises(ApplyError, match=why):
        refuse_too_large(made, [team(flavors=["large", "huge"])], cordoned)


@pytest.mark.parametrize(
    ("spec", "teams"),
    [
        ({}, []),
        ({"team": "vision", **two(8)}, [team()]),
        ({"team": "vision", **two(9)}, [team(pods=2), team("other")]),
        ({"team": "vision", **two(3)}, [team(pods=2, borrow=1), team("other")]),
    ],
)
def test_what_fits_if_others_use_nothing_waits(spec: Thing, teams: list[Thing]) -> None:
    refuse_too_large(MadeFrom(spec, "small", 1, {}), teams)


def test_a_running_server_survives_a_lower_quota() -> None:
    there = applied(plan(server(team="vision", **two())))
    values = compute(
        server(team="vision", **two()),
        flavors=[flavor("small")],
        stateful_sets=[there],
        claims=(),
        pods=[{"metadata": {}, "status": {"containerStatuses": [USABLE]}}],
        teams=[team(pods=1)],
        files={},
    )
    assert values.names["replicas"] == 2
