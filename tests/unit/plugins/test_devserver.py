from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from filter.devserver import FLAVOR_GENERATION, FLAVOR_SPEC, devserver_values, shape

FLAVOR: dict[str, Any] = {
    "metadata": {"name": "small", "generation": 3},
    "spec": {"resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}},
}


def server(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "lab", "namespace": "dev-alice"},
        "spec": {"flavor": "small", "mode": "standalone", "persistentHomeSize": "1Gi", **spec},
    }


def statefulset(values: dict[str, Any]) -> dict[str, Any]:
    """The StatefulSet that the API server holds after the values were rendered."""
    template = {
        "metadata": {"name": "home"},
        "spec": {"resources": {"requests": {"storage": values["claim_template_size"]}}},
    }
    return {
        "metadata": {"annotations": values["flavor_annotations"]},
        "spec": {"replicas": values["replicas"], "volumeClaimTemplates": [template]},
    }


def environment(values: dict[str, Any]) -> dict[str, str]:
    return {e["name"]: e["value"] for e in values["environment"] if "value" in e}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"mode": "standalone"}, (1, 1)),
        # The seed's manifest: the block is there and unused.
        ({"mode": "standalone", "distributed": {"worldSize": 4}}, (1, 1)),
        ({"mode": "distributed", "distributed": {"worldSize": 4, "nprocsPerNode": 1}}, (4, 1)),
        ({"mode": "distributed", "distributed": {"worldSize": 8, "nprocsPerNode": 4}}, (2, 4)),
    ],
)
def test_pods_are_processes_over_processes_per_pod(
    spec: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert shape(spec) == expected


def test_rank_zero_and_its_home_are_the_same_in_both_modes() -> None:
    one = devserver_values(server(), FLAVOR, None)
    block = {"worldSize": 2, "backend": "gloo"}
    two = devserver_values(server(mode="distributed", distributed=block), FLAVOR, statefulset(one))
    assert one["homes"] == ["home-lab-0"]
    assert two["homes"] == ["home-lab-0", "home-lab-1"]
    assert environment(one)["MASTER_ADDR"] == environment(two)["MASTER_ADDR"] == "lab-0.lab"


def test_distributed_settings_reach_the_environment_and_standalone_ignores_them() -> None:
    block = {"worldSize": 4, "nprocsPerNode": 2, "ncclSettings": {"NCCL_DEBUG": "INFO"}}
    values = environment(
        devserver_values(server(mode="distributed", distributed=block), FLAVOR, None)
    )
    assert values["WORLD_SIZE"] == "4"
    assert values["LOCAL_WORLD_SIZE"] == "2"
    assert values["NNODES"] == "2"
    assert values["NCCL_DEBUG"] == "INFO"
    alone = environment(devserver_values(server(distributed=block), FLAVOR, None))
    assert alone["WORLD_SIZE"] == "1"
    assert "NCCL_DEBUG" not in alone


def test_stopping_keeps_the_homes_and_takes_the_pods() -> None:
    values = devserver_values(server(stopped=True), FLAVOR, None)
    assert values["replicas"] == 0
    assert values["homes"] == ["home-lab-0"]


def test_a_changed_flavor_waits_for_the_next_start() -> None:
    before = devserver_values(server(), FLAVOR, None)
    changed = {
        "metadata": {"name": "small", "generation": 4},
        "spec": {"resources": {"requests": {"cpu": 2}}},
    }
    running = devserver_values(server(), changed, statefulset(before))
    assert running["resources"] == before["resources"]
    assert running["flavor_annotations"] == before["flavor_annotations"]
    stopped = devserver_values(server(stopped=True), changed, statefulset(running))
    assert stopped["flavor_annotations"][FLAVOR_GENERATION] == "4"
    started = devserver_values(server(), changed, statefulset(stopped))
    assert started["resources"]["requests"] == {"cpu": 2}


def test_a_server_whose_flavor_was_deleted_runs_on_and_a_new_one_is_refused() -> None:
    before = devserver_values(server(), FLAVOR, None)
    assert devserver_values(server(), None, statefulset(before))["resources"] == before["resources"]
    with pytest.raises(AnsibleFilterError, match="flavor `small` does not exist"):
        devserver_values(server(), None, None)


def test_another_flavor_is_taken_at_once() -> None:
    before = devserver_values(server(), FLAVOR, None)
    other = {**FLAVOR, "metadata": {"name": "large", "generation": 1}}
    values = devserver_values(server(flavor="large"), other, statefulset(before))
    assert values["flavor_annotations"][FLAVOR_GENERATION] == "1"


def test_the_claim_template_keeps_the_size_it_was_made_with() -> None:
    before = devserver_values(server(), FLAVOR, None)
    grown = devserver_values(server(persistentHomeSize="2Gi"), FLAVOR, statefulset(before))
    assert grown["claim_template_size"] == "1Gi"


def test_the_recorded_flavor_is_the_same_text_whatever_the_order_of_its_keys() -> None:
    turned = {**FLAVOR, "spec": dict(reversed(list(FLAVOR["spec"].items())))}
    one = devserver_values(server(), FLAVOR, None)["flavor_annotations"][FLAVOR_SPEC]
    two = devserver_values(server(), turned, None)["flavor_annotations"][FLAVOR_SPEC]
    assert one == two
    assert json.loads(one) == FLAVOR["spec"]
