"""What pods hold of nodes is summed up as they come, change and go, as the scheduler counts it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from devctl_gateway.cluster.usage import Usage, held, small_pod
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

NODES = ["one", "two"]


def total(pods: Iterable[dict[str, Any]], node: str) -> Counter[str]:
    """The sum for a node of pods as the API server has them."""
    found = Counter[str]()
    for each in pods:
        if each["spec"].get("nodeName") == node:
            found.update(held(each))
    return found


requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["1", "250m", "1500m", "0.1"]),
        "memory": st.sampled_from(["64Mi", "1Gi", "1000000", "128974848000m"]),
        "nvidia.com/gpu": st.integers(1, 8).map(str),
        "imagepod.dev/job-slots": st.just("1"),
    },
)
containers = requests.map(lambda amounts: {"name": "a", "resources": {"requests": amounts}})
pods = st.builds(
    lambda node, phase, main, init: {
        "spec": {"containers": main, "initContainers": init} | ({"nodeName": node} if node else {}),
        "status": {"phase": phase},
    },
    st.sampled_from([*NODES, ""]),
    st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    st.lists(containers, min_size=1, max_size=3),
    st.lists(containers, max_size=2),
)
events = st.lists(st.tuples(st.sampled_from("abc"), st.none() | pods), max_size=12)


@given(events)
def test_the_sum_is_that_of_the_pods_there_whatever_has_happened(
    happened: list[tuple[str, dict[str, Any] | None]],
) -> None:
    usage, there = Usage(), dict[str, dict[str, Any]]()
    for key, pod in happened:
        old = there.pop(key, None)
        if pod:
            there[key] = pod
        usage.changed(key, old and small_pod(old), pod and small_pod(pod))
    for node in NODES:
        assert +usage.nodes.get(node, total([], node)) == +total(there.values(), node)


def pod(*requests: dict[str, str], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    main = [{"resources": {"requests": each}} for each in requests]
    return {"spec": {"nodeName": "one", "containers": main, "initContainers": list(init)}}


def test_containers_are_counted_together_in_thousandths_of_cores_and_bytes() -> None:
    found = held(pod({"cpu": "250m", "memory": "1Mi"}, {"cpu": "1", "nvidia.com/gpu": "2"}))
    assert found == {"cpu": 1250, "memory": 1 << 20, "nvidia.com/gpu": 2}


def test_an_init_container_counts_if_it_needs_more_than_all_others() -> None:
    large = {"resources": {"requests": {"cpu": "4"}}}
    assert held(pod({"cpu": "1"}, {"cpu": "2"}, init=(large,))) == {"cpu": 4000}
    assert held(pod({"cpu": "3"}, {"cpu": "2"}, init=(large,))) == {"cpu": 5000}


def test_a_sidecar_counts_with_the_containers() -> None:
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}
    assert held(pod({"cpu": "1"}, init=(sidecar,))) == {"cpu": 1500}


def test_a_pod_without_a_node_or_at_its_end_holds_nothing() -> None:
    waiting, ended = pod({"cpu": "1"}), pod({"cpu": "1"})
    del waiting["spec"]["nodeName"]
    ended["status"] = {"phase": "Succeeded"}
    assert held(waiting) == held(ended) == {}
