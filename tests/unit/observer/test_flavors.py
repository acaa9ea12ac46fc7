from __future__ import annotations

from typing import Any

import msgspec
import pytest
from devctl_observer.judging.conditions import MESSAGE_LIMIT, condition
from devctl_observer.kinds.flavors.placed_pods import NodeUse
from devctl_observer.kinds.flavors.status import fit, flavor_status
from devctl_observer.watching.kept import node_facts

from devctl.api.conditions import find
from unit.observer.objects import NOW, flavor, node

GPU = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "1"}
TAINT = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


def needs(**requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": {k.replace("_", "/"): v for k, v in requests.items()}}}


@pytest.mark.parametrize(
    ("spec", "nodes", "said"),
    [
        ({}, [node()], "1 of 1 nodes can hold"),
        (needs(cpu=8), [node()], "1 x cpu 8 wanted, 4 there"),
        (needs(cpu="3500m", memory=8e9), [node()], "1 of 1 nodes can hold"),
        (needs(memory="9Gi"), [node()], "memory 9663676416 wanted, 8589934592 there"),
        ({"resources": {"limits": {"nvidia.com/gpu": 1}}}, [node()], "1 x no nvidia.com/gpu"),
        ({"resources": {"limits": {"nvidia.com/gpu": 1}}}, [node(allocatable=GPU)], "1 of 1"),
        ({"nodeSelector": {"pool": "gpu"}}, [node()], "no label pool=gpu"),
        ({"nodeSelector": {"pool": "gpu"}}, [node(labels={"pool": "gpu"})], "1 of 1"),
        ({}, [node(ready="Unknown"), node("b")], "1 of 2"),
        ({}, [node(ready="False")], "not ready"),
        ({}, [node(cordoned=True)], "cordoned"),
        ({}, [node(taints=TAINT)], "taint gpu=yes:NoSchedule"),
        ({"tolerations": [{"key": "gpu", "value": "yes"}]}, [node(taints=TAINT)], "1 of 1"),
        ({"tolerations": [{"key": "gpu", "value": "no"}]}, [node(taints=TAINT)], "taint gpu"),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, [node(taints=TAINT)], "1 of 1"),
        ({"tolerations": [{"operator": "Exists"}]}, [node(taints=TAINT, cordoned=True)], "1 of 1"),
        (
            {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]},
            [node(taints=TAINT)],
            "taint gpu",
        ),
        ({}, [node(taints=[{"key": "k", "effect": "PreferNoSchedule"}])], "1 of 1"),
        ({}, [node(taints=[{"key": "k", "effect": "NoExecute"}])], "taint k:NoExecute"),
        ({}, [], "the cluster has no nodes"),
    ],
)
def test_whether_a_flavor_fits_and_what_binds(spec: Any, nodes: Any, said: str) -> None:
    found = fit(flavor(**spec), [node_facts(n) for n in nodes])
    assert said in found["message"]
    assert found["status"] == ("True" if "can hold" in found["message"] else "False")


def test_a_heartbeat_changes_no_facts() -> None:
    before, after = node(), node()
    assert after.status
    assert after.status.conditions
    after.status.conditions[0].lastHeartbeatTime = NOW
    assert node_facts(before) == node_facts(after)
    assert node_facts(node(cordoned=True)) != node_facts(before)


def test_the_status_of_a_flavor_stays_when_derived_again() -> None:
    only = flavor()
    first = flavor_status(only, {"cpu-small": only}, [node_facts(node())], NodeUse(), NOW)
    assert (first["schedulable"], first["total"], first["free"]) == (True, 4, 4)
    assert [c["type"] for c in first["conditions"]] == ["DefaultConflict", "Schedulable"]
    again = flavor_status(
        msgspec.structs.replace(only, status=first),
        {"cpu-small": only},
        [node_facts(node())],
        NodeUse(),
        NOW.replace(hour=20),
    )
    assert again == first


def test_two_defaults_are_a_conflict_on_both() -> None:
    both = {name: flavor(name, default=True) for name in ("a", "b")}
    for name, other in (("a", "b"), ("b", "a")):
        found = find(flavor_status(both[name], both, [], NodeUse(), NOW), "DefaultConflict")
        assert (found["status"], found["reason"]) == ("True", "SeveralDefaults")
        assert f"also the default: {other};" in found["message"]
    many = {str(n): flavor(str(n), default=True) for n in range(12)}
    said = find(flavor_status(many["0"], many, [], NodeUse(), NOW), "DefaultConflict")["message"]
    assert said.startswith("also the default: 1, 10, 11, 2, 3, 4, 5, 6 and 3 more; ")
    one = {"a": flavor("a", default=True), "b": flavor("b")}
    reasons = [
        find(flavor_status(f, one, [], NodeUse(), NOW), "DefaultConflict")["reason"]
        for f in one.values()
    ]
    assert reasons == ["OnlyDefault", "NotDefault"]


def test_a_message_fits_its_field() -> None:
    assert len(condition("Ready", "False", "X", "x" * 10**5)["message"]) == MESSAGE_LIMIT
