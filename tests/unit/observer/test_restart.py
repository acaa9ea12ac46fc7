"""A running server matches its record; its owner is told what the next start will change."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from devctl_observer.kinds.servers.drift import recorded
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.status import server_status
from devctl_observer.kinds.servers.transitions import transitions
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.conditions import find
from devctl.api.labels import FLAVOR, FLAVOR_GENERATION, MADE_FROM
from devctl.api.made_from import read_record
from unit.observer.objects import NOW, ago, container, distributed, flavor, made_from, pod, server

RUN = "to apply the change, run `devctl restart my-dev`"


def seen(of: Any, record: dict[str, str], *pods: Any, **more: Any) -> dict[str, Any]:
    flavors = {f.metadata.name: f for f in more.pop("flavors", [flavor(), flavor("gpu")])}
    observed = Observed(
        of, made=True, annotations=record, pods=pods, flavors=flavors, scale=more.get("scale", 0)
    )
    return server_status(observed, NOW)


def said(status: dict[str, Any], kind: str = "RestartRequired") -> tuple[str, str, str]:
    entry = find(status, kind)
    return entry["status"], entry["reason"], entry["message"]


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"image": "torch:2"}, "spec.image has"),
        ({"enableSSH": False, "image": "torch:2"}, "spec.image and spec.enableSSH have"),
        (
            {"flavor": "gpu", "sharedVolumeClaimName": "data", **distributed()},
            "spec.flavor, spec.mode, spec.distributed and spec.sharedVolumeClaimName have",
        ),
    ],
)
def test_a_change_waits_for_a_restart_and_says_so(spec: dict[str, Any], what: str) -> None:
    wanted = server(**{"enableSSH": True, **spec})
    found = seen(wanted, made_from(enableSSH=True), pod(ready=True))
    assert said(found) == (
        *("True", "SpecChanged", f"{what} changed since the server started; {RUN}"),
    )


def test_what_is_as_it_was_or_shapes_no_pod_needs_no_restart() -> None:
    unused: dict[str, Any] = {"distributed": {"worldSize": 9}, "lifecycle": {"timeToLive": "9d"}}
    for same in (server(), server(**unused)):
        assert said(seen(same, made_from(), pod(ready=True)))[:2] == ("False", "UpToDate")


def test_what_does_not_run_needs_no_restart() -> None:
    changed: dict[str, Any] = {"image": "torch:2"}
    gone = {"deletionTimestamp": ago(seconds=1)}
    for found in (
        seen(server(**changed), made_from()),
        seen(server(**changed, stopped=True), made_from(), pod(ready=True)),
        seen(server(meta=gone, **changed), made_from(), pod(ready=True)),
    ):
        assert said(found)[:2] == ("False", "NotRunning")
        assert said(found, "FlavorOutdated")[:2] == ("False", "NotRunning")


@pytest.mark.parametrize(
    "junk",
    [
        *("", "{", "[]", "null", "7", "{}", "[" * 100_000, "\ud800"),
        '{"spec": 1, "flavor": {"name": "a", "generation": 1, "spec": {}}}',
        '{"spec": {}, "flavor": {"name": "a", "generation": "1", "spec": {}}}',
        '{"spec": {"mode": "distributed"}, "flavor": {"name": "a", "generation": 1, "spec": {}}}',
        (
            '{"spec": {"mode": "distributed", "distributed": {"worldSize": 1e99}}, '
            '"flavor": {"name": "a", "generation": 1, "spec": {}}}'
        ),
    ],
)
def test_a_record_that_cannot_be_read_is_unknown_and_hurts_nothing(
    junk: str,
) -> None:
    for record in ({MADE_FROM: junk}, {}):
        found = seen(server(**distributed(2)), record, pod(0, ready=True), pod(1, ready=True))
        assert said(found)[:2] == ("Unknown", "NotRecorded")
        assert (found["phase"], found["replicas"]) == ("Running", 2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


OBJECTS = st.dictionaries(st.text(), JSON, max_size=3)
FLAVORS = st.fixed_dictionaries(
    {"name": st.text(), "generation": st.integers() | st.booleans(), "spec": OBJECTS | JSON}
)
RECORDS = st.fixed_dictionaries({"spec": OBJECTS | JSON, "flavor": FLAVORS | JSON})


@given(st.text() | (JSON | RECORDS).map(json.dumps))
def test_any_record_is_none_or_the_same_when_it_is_written_again(text: str) -> None:
    found = read_record(text)
    if found is not None:
        again = read_record(found.to_text())
        assert again is not None
        assert again.to_text() == found.to_text()


@given(st.text(), st.text() | st.integers().map(str) | st.just("9" * 5000))
def test_no_annotation_of_a_pod_breaks_it_either(name: str, generation: str) -> None:
    found = recorded({FLAVOR: name, FLAVOR_GENERATION: generation})
    assert found is None or (found.flavor, found.generation) == (name, int(generation))


def test_a_running_server_keeps_the_size_that_it_started_with() -> None:
    found = seen(server(**distributed(4)), made_from(mode="standalone"), pod(ready=True))
    assert (found["phase"], found["replicas"], found["readyReplicas"]) == ("Running", 1, 1)
    assert len(found["replicaStatuses"]) == len(found["endpoints"]["hosts"]) == 1
    assert said(found)[:2] == ("True", "SpecChanged")

    record = made_from(**distributed(3), enableSSH=False)
    pods = [pod(number, ready=True) for number in range(3)]
    found = seen(server(), record, *pods)
    assert (found["phase"], found["replicas"], found["readyReplicas"]) == ("Running", 3, 3)
    assert len(found["endpoints"]["hosts"]) == 3
    assert "ssh" not in found["endpoints"]
    part = seen(server(), record, *pods[:2])
    assert find(part, "Ready")["message"].startswith("2 of 3 replicas ready; replica 2: ")


def test_the_size_is_the_specs_once_nothing_runs() -> None:
    record = made_from(mode="standalone")
    assert seen(server(**distributed(4)), record)["replicas"] == 4
    # While a scaled-up StatefulSet has no pod, the size is still that of the record.
    assert seen(server(**distributed(4)), record, scale=1)["replicas"] == 1
    assert seen(server(**distributed(4), stopped=True), record, pod(), scale=1)["replicas"] == 0


def test_the_role_takes_it_up_and_all_is_well() -> None:
    pods = [pod(number, ready=True) for number in range(2)]
    found = seen(server(**distributed(2)), made_from(**distributed(2)), *pods)
    assert said(found)[:2] == ("False", "UpToDate")
    assert find(found, "Ready")["message"] == "2 of 2 replicas ready"


def test_another_flavor_is_told_of_in_the_same_words_and_by_one_event() -> None:
    before = seen(server(), made_from(), pod(ready=True))
    found = seen(server(flavor="gpu"), made_from(), pod(ready=True))
    assert said(found)[2] == f"spec.flavor has changed since the server started; {RUN}"
    assert said(found, "FlavorOutdated") == (
        *(
            "True",
            "OtherFlavor",
            f"the server runs on flavor `cpu-small` instead of `gpu`; {RUN}",
        ),
    )
    assert [t.reason for t in transitions(before, found)] == ["RestartRequired"]
    assert list(transitions(found, found)) == []


def test_nobody_is_told_to_stop_what_could_not_start_again() -> None:
    missing = seen(server(flavor="gone"), made_from(), pod(ready=True))
    assert said(missing)[:2] == ("True", "SpecChanged")
    told = "do not restart it yet, it could not start: flavor `gone` does not exist"
    assert told in said(missing)[2]
    conflict = {
        "type": "Applied",
        "status": "False",
        "observedGeneration": 3,
        "reason": "Conflict",
        "message": "a foreign Service",
    }
    for generation, advised in ((3, False), (4, True)):
        changed = server({"conditions": [conflict]}, {"generation": generation}, flavor="gpu")
        found = seen(changed, made_from(), pod(ready=True))
        for kind in ("RestartRequired", "FlavorOutdated"):
            assert ("devctl restart" in said(found, kind)[2]) is advised
            assert ("could not start: a foreign Service" in said(found, kind)[2]) is not advised


def test_a_cordoned_default_is_no_reason_to_restart_or_to_start() -> None:
    flavors = [flavor("gpu", default=True, cordoned=True), flavor()]
    unnamed = server(flavor=None)
    moved = seen(unnamed, made_from(flavor=None), pod(ready=True), flavors=flavors)
    told = "the server names no flavor and the default, `gpu`, is cordoned"
    assert said(moved, "FlavorOutdated")[2] == f"{told}; set spec.flavor to one of: cpu-small"
    # It is not told to the server that has it.
    has = seen(unnamed, made_from("gpu", flavor=None), pod(ready=True), flavors=flavors)
    assert told not in said(has, "FlavorOutdated")[2]
    new = seen(unnamed, {}, flavors=flavors)
    assert find(new, "Ready")["reason"] == "InvalidFlavor"
    assert told in find(new, "Ready")["message"]
    known = server({"conditions": [{"type": "Applied", "status": "True"}]}, flavor=None)
    assert find(seen(known, {}, flavors=flavors), "Ready")["reason"] != "InvalidFlavor"


def test_what_is_taken_up_at_once_is_no_event() -> None:
    before = seen(server(), made_from(), pod())
    broken = seen(server(image="torch:2"), made_from(), pod())
    assert said(broken)[:2] == ("False", "NotRunning")
    assert said(broken, "FlavorOutdated")[:2] == ("False", "NotRunning")
    assert list(transitions(before, broken)) == []
    ready = seen(server(image="torch:2"), made_from(), pod(ready=True))
    assert [t.reason for t in transitions(broken, ready)] == ["Running", "RestartRequired"]


@pytest.mark.parametrize(
    ("labels", "revision", "expected"),
    [
        ({"controller-revision-hash": "a"}, "b", ("True", "TemplateChanged")),
        ({"controller-revision-hash": "b"}, "b", ("False", "UpToDate")),
        ({"controller-revision-hash": "a"}, "", ("False", "UpToDate")),
        (None, "b", ("False", "UpToDate")),
    ],
)
def test_a_release_that_makes_other_pods_waits_for_the_next_start(
    labels: Any, revision: str, expected: tuple[str, str]
) -> None:
    made = pod(ready=True, meta={"labels": labels})
    observed = Observed(
        server=server(),
        made=True,
        annotations=made_from(),
        revision=revision,
        pods=(made,),
        flavors={"cpu-small": flavor()},
    )
    assert said(server_status(observed, NOW))[:2] == expected
    # A change by the owner takes precedence.
    changed = replace(observed, server=server(image="torch:2"))
    assert said(server_status(changed, NOW))[:2] == ("True", "SpecChanged")


def test_a_node_that_is_silent_does_not_say_that_nobody_works_there() -> None:
    """Its pods are not ready, but their programs still run."""
    silent = pod(containerStatuses=[container(ready=True)])
    found = seen(server(image="torch:2"), made_from(), silent)
    assert found["readyReplicas"] == 0
    assert said(found)[:2] == ("True", "SpecChanged")
    before = seen(server(), made_from(), silent)
    assert [t.reason for t in transitions(before, found)] == ["RestartRequired"]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (flavor(generation=2), ("False", "UpToDate")),
        # It has become the default, which does not change its pods.
        (flavor(generation=2, default=True), ("False", "UpToDate")),
        (flavor(generation=2, cordoned=True), ("False", "UpToDate")),
        (flavor(generation=2, nodeSelector={"a": "b"}), ("True", "FlavorChanged")),
        # It was deleted and recreated.
        (flavor(generation=1, nodeSelector={"a": "b"}), ("True", "FlavorChanged")),
    ],
)
def test_a_flavor_is_outdated_when_it_gives_other_pods(now: Any, expected: Any) -> None:
    found = seen(server(), made_from(), pod(ready=True), flavors=[now])
    assert said(found, "FlavorOutdated")[:2] == expected


def test_a_pod_of_an_earlier_record_counts_by_its_generation() -> None:
    found = seen(server(), made_from(generation=2), pod(ready=True), flavors=[flavor(generation=2)])
    assert said(found, "FlavorOutdated")[:2] == ("True", "FlavorChanged")
