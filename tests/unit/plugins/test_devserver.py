"""The values for the role `devserver`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from apply.errors import ApplyError
from devserver.homes import homes
from devserver.values import identity, utilities_name
from devserver.values import values as compute

from devctl.api.applied import Reason
from devctl.api.labels import FLAVOR, FLAVOR_GENERATION, MADE_FROM, OWNER, OWNER_NAME, WAKE

Thing = dict[str, Any]
SMALL: Thing = {
    "metadata": {"name": "small", "generation": 3},
    "spec": {"resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}},
}
LARGE: Thing = {
    "metadata": {"name": "large", "generation": 1},
    "spec": {"default": True, "resources": {"requests": {"cpu": 8}}},
}
TWO = {"mode": "distributed", "distributed": {"worldSize": 2, "backend": "gloo"}}


def server(**spec: Any) -> Thing:
    spec = {
        "owner": "alice@company.com",
        "flavor": "small",
        "image": "torch:1",
        "mode": "standalone",
        "persistentHomeSize": "1Gi",
        **spec,
    }
    spec = {name: value for name, value in spec.items() if value is not None}
    return {"metadata": {"name": "lab", "namespace": "dev-alice", "uid": "u1"}, "spec": spec}


RUNNING: Thing = {"started": True, "ready": True, "state": {"running": {}}}


def pod(*, going: bool = False, **container: Any) -> Thing:
    """A usable pod, except for the given state of its container."""
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {}
    return {"metadata": metadata, "status": {"containerStatuses": [RUNNING | container]}}


def values(
    wanted: Thing,
    stateful_set: Thing | None = None,
    *flavors: Thing,
    claims: Any = (),
    pods: Any = None,
    plans: Any = (),
) -> Thing:
    """The values; by default, a StatefulSet has one pod, which is usable."""
    there = ([pod()] if stateful_set else []) if pods is None else pods
    found = compute(
        wanted,
        flavors=flavors or (SMALL, LARGE),
        stateful_sets=[stateful_set] if stateful_set else [],
        claims=claims,
        pods=there,
        teams=[],
        plans=plans,
        files={},
    )
    return dict(found.names)


def affinity(terms: list[Thing]) -> Thing:
    """The affinity of a pod's spec, as the API server stores it."""
    found = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"nodeAffinity": found}} if terms else {}


def stateful_set(made: Thing, uid: str = "u1") -> Thing:
    """The StatefulSet in the API server after the values were rendered."""
    (template,) = made["claim_templates"]
    stored = {
        "metadata": template["metadata"] | {"creationTimestamp": None},
        "spec": template["spec"] | {"volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }
    return {
        "metadata": {"annotations": made["annotations"], "ownerReferences": [{"uid": uid}]},
        "spec": {
            "replicas": made["replicas"],
            "updateStrategy": {"type": made["update_strategy"]},
            "volumeClaimTemplates": [stored],
            "template": {"spec": affinity(made["preferred"])},
        },
    }


def environment(made: Thing) -> dict[str, str]:
    return {e["name"]: e["value"] for e in made["environment"] if "value" in e}


def without(made: Thing, *names: str) -> Thing:
    return {name: value for name, value in made.items() if name not in names}


def test_rank_zero_and_its_home_are_the_same_in_both_modes() -> None:
    one, two = values(server()), values(server(**TWO))

    assert [home["name"] for home in one["homes"]] == ["home-lab-0"]
    assert [home["name"] for home in two["homes"]] == ["home-lab-0", "home-lab-1"]
    assert environment(one)["MASTER_ADDR"] == environment(two)["MASTER_ADDR"] == "lab-0.lab"


def test_distributed_settings_reach_the_environment_and_standalone_ignores_them() -> None:
    block = {"worldSize": 4, "nprocsPerNode": 2, "ncclSettings": {"NCCL_DEBUG": "INFO"}}
    many = environment(values(server(mode="distributed", distributed=block)))
    alone = environment(values(server(distributed=block)))

    assert (many["WORLD_SIZE"], many["LOCAL_WORLD_SIZE"], many["NNODES"]) == ("4", "2", "2")
    assert many["NCCL_DEBUG"] == "INFO"
    assert alone["WORLD_SIZE"] == "1"
    assert "NCCL_DEBUG" not in alone


def test_a_dollar_in_a_setting_stays_text() -> None:
    block = {"worldSize": 2, "ncclSettings": {"NCCL_DEBUG_FILE": "$(HOME)/%h", "NCCL_NCHANNELS": 2}}
    made = environment(values(server(mode="distributed", distributed=block)))

    assert made["NCCL_DEBUG_FILE"] == "$$(HOME)/%h"
    assert made["NCCL_NCHANNELS"] == "2"


def test_stopping_keeps_the_homes_and_takes_the_pods() -> None:
    made = values(server(stopped=True))

    assert made["replicas"] == 0
    assert [home["name"] for home in made["homes"]] == ["home-lab-0"]


@pytest.mark.parametrize(
    "change",
    [
        {"image": "torch:2"},
        {"flavor": "large"},
        {"flavor": "none-of-that-name"},
        TWO,
        {"sharedVolumeClaimName": "data"},
        {"enableSSH": False},
    ],
)
def test_a_running_server_is_not_restarted_by_a_change(change: Thing) -> None:
    before = values(server())

    assert values(server(**change), stateful_set(before)) == before


def test_a_change_is_taken_up_at_the_next_start() -> None:
    running = values(server())
    stopped = values(server(image="torch:2", stopped=True), stateful_set(running))
    started = values(server(image="torch:2"), stateful_set(stopped), pods=[])

    assert (stopped["image"], stopped["replicas"]) == ("torch:2", 0)
    assert (started["image"], started["replicas"]) == ("torch:2", 1)
    assert {running["update_strategy"], started["update_strategy"]} == {"OnDelete"}


def test_a_change_is_taken_up_though_pods_of_before_still_end() -> None:
    stopped = values(server(stopped=True), stateful_set(values(server())))
    started = values(server(image="torch:2"), stateful_set(stopped), pods=[pod(going=True)])

    assert (started["image"], started["replicas"]) == ("torch:2", 1)


def test_a_changed_flavor_waits_for_the_next_start() -> None:
    changed = {"metadata": {"name": "small", "generation": 4}, "spec": LARGE["spec"]}
    before = values(server())

    running = values(server(), stateful_set(before), changed)
    started = values(server(), stateful_set(before), changed, pods=[])

    assert running == before
    assert started["pod_annotations"] == {FLAVOR: "small", FLAVOR_GENERATION: "4"}
    assert started["resources"] == {"requests": {"cpu": "8"}}


WAITING: Thing = {"started": False, "ready": False, "state": {"waiting": {}}}


def test_pods_that_never_came_up_are_replaced_when_the_mistake_is_fixed() -> None:
    wrong = values(server(image="torhc:1"))
    broken = [pod(**WAITING)]
    fixed = values(server(), stateful_set(wrong), pods=broken)

    assert (fixed["image"], fixed["update_strategy"]) == ("torch:1", "RollingUpdate")
    assert values(server(), stateful_set(fixed), pods=broken) == fixed, "until the last one is"
    assert values(server(), stateful_set(fixed)) == fixed | {"update_strategy": "OnDelete"}


@pytest.mark.parametrize(
    "pods",
    [
        [pod(ready=False)],
        [pod(**WAITING), pod(ready=False)],
    ],
    ids=["its node is silent", "one of two is replaced"],
)
def test_a_server_that_is_not_ready_and_runs_is_not_restarted(pods: list[Thing]) -> None:
    before = values(server())
    upgraded = stateful_set(before | {"update_strategy": "RollingUpdate"})

    assert values(server(image="torch:2"), upgraded, pods=pods) == before


def test_a_program_that_has_not_come_up_is_nobodys_work() -> None:
    before = values(server())
    starting = [pod(started=False, ready=False)]

    assert (
        values(server(image="torch:2"), stateful_set(before), pods=starting)["image"] == "torch:2"
    )


@pytest.mark.parametrize(
    ("resources", "size"),
    [
        ({"requests": {"memory": "256Mi"}, "limits": {"memory": "1Gi"}}, "1Gi"),
        ({"requests": {"memory": "256Mi"}, "limits": {"cpu": 2}}, "256Mi"),
        ({"requests": {"memory": "256Mi"}}, "256Mi"),
        ({"requests": {"cpu": 1}}, "64Mi"),
    ],
)
def test_shared_memory_is_as_large_as_the_memory_limit(resources: Thing, size: str) -> None:
    flavor = SMALL | {"spec": {"resources": resources}}

    assert values(server(), None, flavor)["shared_memory"] == size


def test_a_home_names_its_owner_whoever_makes_it() -> None:
    made = values(server(owner="alice@company.com"))
    (template,) = made["claim_templates"]

    assert made["home_annotations"] == {OWNER_NAME: "alice@company.com"}
    assert template["metadata"]["annotations"] == made["home_annotations"]


def test_claim_templates_stay_as_they_are_whatever_a_release_renders() -> None:
    made = stateful_set(values(server()))
    template = made["spec"]["volumeClaimTemplates"][0]
    template["metadata"] = {"name": "home", "labels": {"of": "an earlier release"}}
    template["spec"] |= {"storageClassName": "earlier", "accessModes": ["ReadWriteMany"]}

    (kept,) = values(server(persistentHomeSize="9Gi"), made)["claim_templates"]

    assert kept["metadata"] == {"name": "home", "labels": {"of": "an earlier release"}}
    assert kept["spec"] == {
        "storageClassName": "earlier",
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
    }


def test_a_server_whose_flavor_was_deleted_runs_on_and_a_new_one_is_refused() -> None:
    before = values(server())

    assert values(server(), stateful_set(before), LARGE) == before
    with pytest.raises(ApplyError, match="flavor `small` does not exist") as refused:
        values(server(), None, LARGE)
    assert refused.value.reason is Reason.INVALID


def test_a_server_whose_flavor_was_deleted_can_be_stopped() -> None:
    stopped = values(server(stopped=True), stateful_set(values(server())), LARGE)

    assert (stopped["replicas"], stopped["pod_annotations"][FLAVOR]) == (0, "small")


def test_without_a_flavor_the_default_one_is_used() -> None:
    made = values(server(flavor=None))

    assert made["pod_annotations"] == {FLAVOR: "large", FLAVOR_GENERATION: "1"}


@pytest.mark.parametrize(
    ("flavors", "problem"),
    [
        ([SMALL], "no flavor is the default"),
        (
            [LARGE, {**LARGE, "metadata": {"name": "huge"}}],
            r"several flavors are the default \(huge, large",
        ),
    ],
)
def test_not_exactly_one_default_is_an_error(flavors: list[Thing], problem: str) -> None:
    with pytest.raises(ApplyError, match=problem):
        values(server(flavor=None), None, *flavors)


def cordoned(flavor: Thing) -> Thing:
    return flavor | {"spec": flavor["spec"] | {"cordoned": True}}


def test_a_new_server_does_not_get_a_cordoned_default() -> None:
    problem = "the server names no flavor and the default, `large`, is cordoned"
    with pytest.raises(ApplyError, match=f"{problem}; set spec.flavor to one of: small") as refused:
        values(server(flavor=None), None, SMALL, cordoned(LARGE))
    assert refused.value.reason is Reason.INVALID
    with pytest.raises(ApplyError, match="all flavors are cordoned"):
        values(server(flavor=None), None, cordoned(LARGE))


def test_a_server_keeps_its_cordoned_flavor() -> None:
    flavors = (cordoned(SMALL), cordoned(LARGE))
    for name in ("small", None):
        before = values(server(flavor=name))
        assert values(server(flavor=name), stateful_set(before), *flavors) == before
        stopped = values(server(flavor=name, stopped=True), stateful_set(before), *flavors)
        started = values(server(flavor=name), stateful_set(stopped), *flavors, pods=[])
        assert started["pod_annotations"] == before["pod_annotations"]


def test_a_server_does_not_move_to_a_cordoned_default() -> None:
    was = LARGE | {"metadata": {"name": "was", "generation": 1}}
    before = values(server(flavor=None), None, was)
    now = (SMALL, cordoned(LARGE), was | {"spec": was["spec"] | {"default": False}})
    # Not even on its next start; what runs is left alone.
    assert (
        values(server(flavor=None), stateful_set(before), *now)["pod_annotations"]
        == before["pod_annotations"]
    )
    with pytest.raises(ApplyError, match="`large`, is cordoned"):
        values(server(flavor=None), stateful_set(before), *now, pods=[])


def test_a_server_that_left_its_queue_keeps_the_cordoned_default() -> None:
    condition = {"type": "Applied", "status": "True"}
    applied = server(flavor=None) | {"status": {"conditions": [condition]}}
    assert values(applied, None, cordoned(LARGE))["pod_annotations"][FLAVOR] == "large"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"spec": {}}', '{"spec": 1, "flavor": 2}'])
def test_a_record_that_makes_no_sense_counts_as_none(text: str) -> None:
    before = stateful_set(values(server(image="torch:0")))
    before["metadata"]["annotations"] = {MADE_FROM: text}

    assert values(server(), before)["image"] == "torch:1"


def test_the_record_of_an_earlier_server_of_that_name_is_not_used() -> None:
    before = stateful_set(values(server(image="torch:0")), uid="u0")

    assert values(server(), before)["image"] == "torch:1"


def test_the_record_is_the_same_text_whatever_the_order_of_its_keys() -> None:
    turned = {**SMALL, "spec": dict(reversed(list(SMALL["spec"].items())))}

    one, two = values(server()), values(server(), None, turned)

    assert one["annotations"] == two["annotations"]
    assert json.loads(one["annotations"][MADE_FROM])["flavor"]["spec"] == SMALL["spec"]


def test_the_claim_template_keeps_the_size_it_was_made_with_and_homes_grow() -> None:
    before = values(server())
    grown = values(server(persistentHomeSize="2Gi"), stateful_set(before))

    assert grown["claim_templates"] == before["claim_templates"]
    assert grown["homes"] == [{"name": "home-lab-0", "size": "2Gi"}]


@pytest.mark.parametrize(
    ("there", "wanted", "size"),
    [
        ("10Gi", "1Gi", "10Gi"),
        ("1Gi", "10Gi", "10Gi"),
        ("1024Mi", "1Gi", "1024Mi"),
        ("1Gi", 1073741824, "1Gi"),
        ("1Gi", 1073741825, "1073741825"),
    ],
)
def test_a_home_that_is_there_never_shrinks(there: str, wanted: str | int, size: str) -> None:
    claim = {
        "metadata": {"name": "home-lab-0"},
        "spec": {"resources": {"requests": {"storage": there}}},
    }

    assert homes("lab", 1, wanted, [claim]) == [{"name": "home-lab-0", "size": size}]


def test_another_owner_has_another_identity() -> None:
    alice, bob = identity(server()), identity(server(owner="bob@company.com"))

    assert alice[OWNER] != bob[OWNER]
    assert without(alice, OWNER) == without(bob, OWNER)


def test_scripts_are_named_by_their_content() -> None:
    one = utilities_name({"start": "a", "stop": "b"})

    assert utilities_name({"stop": "b", "start": "a"}) == one
    assert utilities_name({"start": "a", "stop": "c"}) != one


def test_a_server_without_ssh_says_so_in_its_environment() -> None:
    off = {"name": "DEVCTL_SSH", "value": "off"}

    assert off in values(server(enableSSH=False))["environment"]
    assert off not in values(server(enableSSH=True))["environment"]


def test_a_wake_is_handed_on_while_a_pod_is_missing() -> None:
    woken = server()
    woken["metadata"]["annotations"] = {WAKE: "why"}
    assert WAKE not in values(server())["annotations"]
    handed = values(woken, stateful_set(values(server())), pods=[])
    assert handed["annotations"][WAKE] == "why"

    # Kept, so that no run writes unnecessarily; a later wake does not concern the StatefulSet.
    woken["metadata"]["annotations"] = {WAKE: "another"}
    assert values(woken, stateful_set(handed), pods=[pod()])["annotations"][WAKE] == "why"
    stopped = server(stopped=True)
    stopped["metadata"]["annotations"] = {WAKE: "another"}
    assert values(stopped, stateful_set(handed), pods=[])["annotations"][WAKE] == "why"


def plan(ref: str = "torch:1") -> list[Thing]:
    return [{"spec": {"items": [{"type": "image", "name": "torch", "image": {"ref": ref}}]}}]


def test_nodes_are_preferred_that_have_the_image() -> None:
    assert values(server())["preferred"] == []
    assert values(server(), plans=plan("torch:2"))["preferred"] == []
    (term,) = values(server(), plans=plan())["preferred"]
    (expression,) = term["preference"]["matchExpressions"]
    assert (term["weight"], expression["key"]) == (50, "cache.canhazgpu.dev/image.torch")


def test_a_changed_plan_leaves_a_running_server_as_it_is() -> None:
    before, with_plan = values(server()), values(server(), plans=plan())
    assert values(server(), stateful_set(before), plans=plan()) == before
    assert values(server(), stateful_set(with_plan)) == with_plan
    waiting = [pod(started=False, ready=False, state={"waiting": {}})]
    assert values(server(), stateful_set(before), pods=waiting, plans=plan()) == before
    # What changes anyway takes the plan along, and at the next start it counts.
    changed = values(
        server(image="torch:2"), stateful_set(before), pods=waiting, plans=plan("torch:2")
    )
    assert changed["preferred"]
    started = values(server(), stateful_set(before), pods=[], plans=plan())
    assert started["preferred"] == with_plan["preferred"]
    assert started["update_strategy"] == "OnDelete"
