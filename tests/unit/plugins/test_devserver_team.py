"""What the roles of teams, flavors and users render for Kueue."""

from __future__ import annotations

from typing import Any

import pytest
from devserver_flavor.values import values as of_flavor
from devserver_team.values import members, usernames
from devserver_team.values import values as of_team
from devserver_user.queues import local_queues, moved
from unit.plugins.templates import rendered

Thing = dict[str, Any]
KUEUE: list[Thing] = [{}]


def flavor(name: str = "large", **spec: Any) -> Thing:
    resources = {"requests": {"cpu": "500m", "memory": "1.5Gi", "nvidia.com/gpu": 1}}
    return {"metadata": {"name": name}, "spec": {"resources": resources} | spec}


def team(*flavors: Thing, **spec: Any) -> Thing:
    return {"metadata": {"name": "vision"}, "spec": {"flavors": list(flavors)} | spec}


def user(name: str, *, team: str = "vision", applied: bool = True) -> Thing:
    status = {"conditions": [{"type": "Applied", "status": "True"}]} if applied else {}
    spec = {"username": f"{name}@company.com", "team": team}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def render(
    wanted: Thing, *flavors: Thing, kueue: Any = KUEUE, users: Any = (), existing: Any = ()
) -> dict[tuple[str, str], Thing]:
    read = {"users": users, "existing": existing, "files": [], "source": []}
    names = of_team(wanted, kueue=kueue, flavors=flavors, claims=[], volumes=[], **read).names
    things = rendered("devserver_team", names)
    return {
        (thing["kind"], thing["metadata"].get("namespace", thing["metadata"]["name"])): thing
        for thing in things
    }


def test_quota_is_pods_times_what_each_requests() -> None:
    things = render(team({"name": "large", "pods": 3, "borrow": 2}), flavor())
    spec = things["ClusterQueue", "vision.large"]["spec"]
    (group,) = spec["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", "nvidia.com/gpu"]
    (quota,) = group["flavors"]
    assert quota["name"] == "large"
    assert {r["name"]: (r["nominalQuota"], r["borrowingLimit"]) for r in quota["resources"]} == {
        "cpu": ("1500m", "1000m"),
        "memory": ("4.5Gi", "3Gi"),
        "nvidia.com/gpu": ("3", "2"),
    }


def test_gpus_by_claim_have_a_quota_as_all_others() -> None:
    """Kueue's key for them is the resource that their DeviceClass names."""
    resources = {"requests": {"cpu": "1"}, "limits": {"canhazgpu.com/gpu": 2}}
    things = render(team({"name": "large", "pods": 3}), flavor(resources=resources))
    (group,) = things["ClusterQueue", "vision.large"]["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["canhazgpu.com/gpu", "cpu"]
    assert group["flavors"][0]["resources"][0] == {
        "name": "canhazgpu.com/gpu",
        "nominalQuota": "6",
    }


def test_without_a_bound_all_that_others_leave_is_borrowed() -> None:
    spec = render(team({"name": "large", "pods": 1}), flavor())["ClusterQueue", "vision.large"]
    resources = spec["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert not any("borrowingLimit" in resource for resource in resources)


def test_a_limit_alone_is_counted_as_kubernetes_does() -> None:
    bounded = flavor(resources={"requests": {"cpu": 1}, "limits": {"memory": "1Gi", "cpu": 2}})
    spec = render(team({"name": "large", "pods": 2}), bounded)["ClusterQueue", "vision.large"]
    resources = spec["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert [(r["name"], r["nominalQuota"]) for r in resources] == [("cpu", "2"), ("memory", "2Gi")]


@pytest.mark.parametrize("preemptible", [True, False])
def test_only_servers_of_preemptible_flavors_give_way(*, preemptible: bool) -> None:
    things = render(team({"name": "large", "pods": 1}), flavor(preemptible=preemptible))
    assert things["ClusterQueue", "vision.large"]["spec"]["preemption"] == {
        "withinClusterQueue": "LowerPriority" if preemptible else "Never",
        "reclaimWithinCohort": "Any" if preemptible else "Never",
    }


def test_each_flavor_has_a_queue_in_the_teams_cohort() -> None:
    quotas = [{"name": name, "pods": 1} for name in ("large", "small")]
    things = render(team(*quotas, cohort="research"), flavor(), flavor("small"))
    queues = {key[1]: thing for key, thing in things.items() if key[0] == "ClusterQueue"}
    assert set(queues) == {"vision.large", "vision.small"}
    assert {thing["spec"]["cohortName"] for thing in queues.values()} == {"research"}


def test_the_queue_of_a_lost_flavor_stays_as_it_is() -> None:
    quota = {"name": "large", "pods": 1}
    assert ("ClusterQueue", "vision.large") not in render(team(quota))
    before = render(team(quota), flavor())["ClusterQueue", "vision.large"]
    defaults = before | {"spec": before["spec"] | {"stopPolicy": "None"}}
    assert render(team(quota), existing=[defaults])["ClusterQueue", "vision.large"] == before


def test_without_kueue_there_are_no_objects_of_its_kinds() -> None:
    things = render(team({"name": "large", "pods": 1}), flavor(), kueue=[])
    assert not things
    assert not rendered("devserver_flavor", of_flavor(flavor(), kueue=[]).names)


def test_members_see_each_other_only_where_they_are_set_up() -> None:
    users = [user("ann"), user("bob"), user("eve", team="other"), user("new", applied=False)]
    assert members(usernames(team(), users)) == {
        "dev-ann": ["bob@company.com"],
        "dev-bob": ["ann@company.com"],
    }
    bindings = {
        key[1]: (thing["roleRef"]["name"], [who["name"] for who in thing["subjects"]])
        for key, thing in render(team(members="stop"), users=users).items()
        if key[0] == "RoleBinding"
    }
    assert bindings == {
        "dev-ann": ("devctl-team-stop", ["bob@company.com"]),
        "dev-bob": ("devctl-team-stop", ["ann@company.com"]),
    }
    assert not [key for key in render(team(), users=users) if key[0] == "RoleBinding"]


def test_kueues_flavor_has_what_kueue_accepts() -> None:
    tolerations = [{"key": "gpu", "operator": "Exists", "value": "", "effect": "NoSchedule"}] * 9
    labels = {f"label-{n}": "x" for n in range(9)}
    made = of_flavor(flavor(nodeSelector=labels, tolerations=tolerations), kueue=KUEUE)
    (thing,) = rendered("devserver_flavor", made.names)
    assert len(thing["spec"]["nodeLabels"]) == len(thing["spec"]["tolerations"]) == 8
    assert thing["spec"]["tolerations"][0] == {
        "key": "gpu",
        "operator": "Exists",
        "effect": "NoSchedule",
    }


def test_a_user_has_a_queue_for_each_flavor_of_the_team() -> None:
    teams = [team({"name": "large", "pods": 1}, {"name": "small", "pods": 0})]
    wanted = {"devctl-large": "vision.large", "devctl-small": "vision.small"}
    assert local_queues("vision", teams) == wanted
    assert local_queues("", teams) == {}
    assert local_queues("gone", teams) == {}


def test_queues_of_another_team_are_replaced() -> None:
    queues = [
        {"metadata": {"name": "devctl-large"}, "spec": {"clusterQueue": "other.large"}},
        {"metadata": {"name": "devctl-small"}, "spec": {"clusterQueue": "vision.small"}},
        {"metadata": {"name": "devctl-rest"}, "spec": {"clusterQueue": "other.rest"}},
    ]
    wanted = {"devctl-large": "vision.large", "devctl-small": "vision.small"}
    # What is no longer wanted at all is pruned.
    assert moved(wanted, queues) == [queues[0]]
