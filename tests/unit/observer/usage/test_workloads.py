"""What GPU workloads run is counted at the price of a GPU of their node."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.kinds.gpu_workload.prices import gpu_price, priced_by
from devctl_observer.kinds.users.model import KIND as USER
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key

from devctl.api.prices import NO_PRICE, Price
from devctl.api.quantities import GPU
from devctl.api.vllm_run import GPUS
from unit.observer.gpu_workload.things import pod as workload_pod
from unit.observer.gpu_workload.things import workload
from unit.observer.objects import NOW, flavor, node
from unit.observer.usage.test_controller import Place
from unit.observer.vllm_run.things import pod as run_pod
from unit.observer.vllm_run.things import run

if TYPE_CHECKING:
    from devctl_observer.kinds.flavors.model import Flavor

TEAM = "dev-alice"
MICRO = 1_000_000


def gpu_flavor(name: str, gpus: int = 2, pool: str = "", **price: Any) -> Flavor:
    spec: dict[str, Any] = {"resources": {"limits": {GPU: gpus}}}
    spec |= {"nodeSelector": {"pool": pool}} if pool else {}
    spec |= {"price": price} if price else {}
    return flavor(name, **spec)


def running_pod(uid: str = "p", gpus: int = 2) -> Any:
    made = workload_pod(
        meta={
            "namespace": TEAM,
            "uid": uid,
            "creationTimestamp": NOW - timedelta(minutes=11),
        },
        startTime=NOW - timedelta(minutes=10),
        spec={"containers": [{"name": "", "resources": {"limits": {GPU: str(gpus)}}}]},
    )
    assert made.spec
    made.spec.nodeName = "n1"
    return made


@pytest.fixture
def place() -> Place:
    made = Place()
    made.flavors.put(Key("", "big"), 1, gpu_flavor("big", 2, perHour=1, perGPUHour="2.50"))
    item = workload(meta={"namespace": TEAM}, owner="alice")
    made.sources.workloads.put(Key(TEAM, "one"), 1, item)
    user = USER.parse({"metadata": {"name": "alice"}, "spec": {"username": "alice", "team": "v"}})
    assert user.namespace == TEAM
    made.sources.users.put(Key("", "alice"), 1, user)
    know_node(made)
    return made


def know_node(place: Place, **labels: str) -> None:
    place.sources.nodes.put(Key("", "n1"), 1, node_facts(node("n1", labels=labels)))


def test_it_has_an_owner_a_team_and_the_price_of_its_gpus(place: Place) -> None:
    assert place.running.pod(None, running_pod()) == {TEAM}
    place.look()
    (line,) = place.lines
    who = {name: line[name] for name in ("owner", "kind", "flavor", "team")}
    assert who == {"owner": "alice", "kind": "GPUWorkload", "flavor": "big", "team": "v"}
    assert "name" not in line
    assert (line["seconds"], line["gpuSeconds"]) == (600, 1200)
    # 2.50 and half of 1.00 for each of two GPUs, for ten minutes.
    assert line["cost"] == 3 * MICRO * 1200 // 3600


def test_a_run_counts_the_gpus_of_its_claim(place: Place) -> None:
    made = run_pod(
        startTime=NOW - timedelta(minutes=10),
        meta={
            "namespace": TEAM,
            "creationTimestamp": NOW - timedelta(minutes=11),
            "annotations": {GPUS: "2"},
        },
    )
    place.sources.runs.put(Key(TEAM, "one"), 1, run(meta={"namespace": TEAM}, owner="alice"))
    assert place.running.pod(None, made) == {TEAM}
    place.look()
    (line,) = place.lines
    who = {name: line[name] for name in ("owner", "kind", "flavor", "team")}
    assert who == {"owner": "alice", "kind": "VLLMRun", "flavor": "big", "team": "v"}
    assert (line["seconds"], line["gpuSeconds"]) == (600, 1200)
    assert line["cost"] == 3 * MICRO * 1200 // 3600


def test_workloads_of_one_owner_share_a_line(place: Place) -> None:
    for uid in ("p", "q"):
        place.running.pod(None, running_pod(uid))
    place.look()
    (line,) = place.lines
    assert line["seconds"] == 1200


def test_without_a_price_time_is_counted_all_the_same(place: Place) -> None:
    place.flavors.drop(Key("", "big"))
    place.running.pod(None, running_pod())
    place.look()
    (line,) = place.lines
    assert line["gpuSeconds"] == 1200
    assert {"cost", "currency", "flavor"} & set(line) == set()


def test_a_new_price_holds_from_then_on(place: Place) -> None:
    place.running.pod(None, running_pod())
    place.look()
    place.steady += 100
    place.flavors.put(Key("", "less"), 1, gpu_flavor("less", 1, perGPUHour=1))
    assert place.running.flavor("less") == {TEAM}
    assert place.running.flavor("less") == set()
    place.steady += 50
    place.look()
    assert [(line["flavor"], line["seconds"]) for line in place.lines] == [
        ("big", 700),
        ("less", 50),
    ]
    place.flavors.drop(Key("", "less"))
    place.flavors.drop(Key("", "big"))
    assert place.running.flavor("big") == set(), "without any, the last price stays"


def test_a_node_that_is_read_of_after_its_pod_has_its_price_from_the_start(place: Place) -> None:
    place.sources.nodes.drop(Key("", "n1"))
    place.running.pod(None, running_pod())
    know_node(place)
    assert place.running.node("other") == set()
    assert place.running.node("n1") == {TEAM}
    place.look()
    (line,) = place.lines
    assert (line["flavor"], line["seconds"]) == ("big", 600)


def test_another_label_of_the_node_may_be_another_price(place: Place) -> None:
    place.flavors.put(Key("", "less"), 1, gpu_flavor("less", 1, "a", perGPUHour=1))
    place.running.pod(None, running_pod())
    place.look()
    place.steady += 10
    know_node(place, pool="a")
    assert place.running.node("n1") == {TEAM}
    place.steady += 10
    place.look()
    assert [(line["flavor"], line["seconds"]) for line in place.lines] == [
        ("big", 610),
        ("less", 10),
    ]


def test_which_flavor_says_what_a_gpu_costs() -> None:
    here, plain = node_facts(node("n1", labels={"pool": "a"})), node_facts(node("n2"))
    free, cheap = gpu_flavor("a-free"), gpu_flavor("cheap", 4, "a", perHour=1, perGPUHour=1)
    dear = gpu_flavor("dear", perGPUHour=2)
    cpu = flavor("cpu", resources={"requests": {"cpu": 1}}, price={"perHour": 1})
    assert priced_by(here, [free, cheap, dear, cpu]) is cheap
    assert priced_by(plain, [free, cheap, dear, cpu]) is dear
    assert priced_by(plain, [free, cheap, cpu]) is free
    assert priced_by(plain, [cpu]) is None
    euro = gpu_flavor("euro", perGPUHour=3, currency="EUR")
    assert priced_by(here, [dear, euro]) is None
    assert gpu_price(cheap) == Price(0, 1_250_000, "USD")
    assert gpu_price(free) == gpu_price(cpu) == NO_PRICE
    assert gpu_price(gpu_flavor("third", 3, perHour=1)) == Price(0, 333_333, "USD")
