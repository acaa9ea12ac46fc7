"""Ten jobs of three users of the GPU workers API, while replicas are killed and a node dies."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import devctl, must
from support.processes import stopped
from support.servers import wait_until
from support.worker_fleet import GATEWAY, Fleet

from devctl.api.gpu_worker_job import GROUP, LABEL, NAMESPACE, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.fault_day import Day

Thing = dict[str, Any]
USERS = ("ada", "bob", "eve")
PRICES = {
    "price_per_gpu_hour": "1.234567",
    "price_per_cpu_hour": "0.031",
    "price_per_memory_gb_hour": "0.0041",
}
SMALL = {"gpu_memory_required": 4096, "cpu_cores_required": 1, "memory_required": 64}
MEMORY = 64
LOST = 240.0
"""Seconds: Kubernetes misses the node, a minute in which it may come back, and a new start."""
OUTLASTS = 60
"""Seconds for which the job on the node that dies runs: less than until it is missed."""
EVERY = 12.0
"""Seconds from one killed replica to the next."""
ASKED = """
for place in $PLACES; do
  if timeout 3 bash -c "exec 3<>/dev/tcp/${place%:*}/${place#*:}" 2>/dev/null
  then echo "$place open"; else echo "$place closed"; fi
done
getent hosts kubernetes.default.svc.cluster.local >/dev/null && echo "names found"
test -e /var/run/secrets/kubernetes.io/serviceaccount/token || echo "no token"
echo "uid $(id -u), epochs $(grep -o '[0-9]*' "$INPUT_DATA_FILE")"
"""


@dataclass(frozen=True)
class Ran:
    """What came of it.

    Attributes:
        fleet: The API.
        owners: Whose each job is, by the job's name.
        ids: Of jobs, by name.
        jobs: What the API says of them in the end, by name.
        objects: The cluster's own objects of them, by name.
        pods: How their pods ended as far as they are still there, by name and pod.
        killed: The replicas that were killed.
        places: Where the probe could have gone.
    """

    fleet: Fleet
    owners: dict[str, str]
    ids: dict[str, str]
    jobs: dict[str, Thing]
    objects: dict[str, Thing]
    pods: dict[str, dict[str, Thing]]
    killed: list[str]
    places: list[str]


@pytest.fixture(scope="module")
def fleet(day: Day) -> Iterator[Fleet]:
    last = day.cluster.nodes[-1].name
    # The database's volume is on the node that goes on.
    day.kubectl("cordon", last)
    try:
        must(devctl("local", "up", "--name", day.cluster.name, "--with", "workers"))
    finally:
        day.kubectl("uncordon", last)
    made = Fleet(day.kubectl, day.cluster.name)
    for user in USERS:
        made.login(user)
    made.login("keeper", "operator")
    wait_until(made.is_ready, lambda: str(made.pods()), 120)
    yield made
    # The part stays: taking it away would last a minute, and the cluster ends with the last fault.
    made.close()


@pytest.fixture(scope="module")
def nodes(day: Day, fleet: Fleet) -> dict[str, str]:
    """The nodes' IDs by their names, once all agents have registered them."""
    found: dict[str, str] = {}

    def there() -> bool:
        for node in fleet.get("keeper", "/nodes/")["items"]:
            if node["state"] == "active":
                found[node["node_name"]] = node["id"]
        return len(found) == len(day.cluster.nodes)

    wait_until(there, lambda: f"agents have registered {found}", 120)
    for node_id in found.values():
        answer = fleet.ask("keeper", "PATCH", f"/nodes/{node_id}", json=PRICES)
        assert answer.status_code == 200, answer.text
    return found


@pytest.fixture(scope="module")
def ran(day: Day, fleet: Fleet, nodes: dict[str, str], impatient: None) -> Ran:  # noqa: ARG001
    image, _, tag = str(day.server.spec["image"]).rpartition(":")
    first, last = nodes[day.cluster.nodes[0].name], day.cluster.nodes[-1].name
    ids: dict[str, str] = {}
    owners: dict[str, str] = {}

    def submit(name: str, script: str, **more: Any) -> str:
        owners[name] = USERS[len(owners) % len(USERS)]
        command = ["bash", "-c", script]
        job = {"job_name": name, "docker_image": image, "docker_tag": tag, "command": command}
        ids[name] = fleet.submit(owners[name], **job, **SMALL, **more)
        return ids[name]

    def wait(name: str, *states: str, seconds: float = 120) -> Thing:
        return fleet.wait(owners[name], ids[name], *states, seconds=seconds)

    def maintain(node_id: str, *, so: bool) -> None:
        answer = fleet.ask("keeper", "PATCH", f"/nodes/{node_id}", json={"maintenance": so})
        assert answer.status_code == 200, answer.text

    places = closed_places(day)
    with fleet.dying(EVERY) as killed:
        submit("cancelled", "sleep 3600")
        submit("fails", "echo it fails; exit 7")
        env = [{"name": "PLACES", "value": " ".join(places)}]
        submit("probe", ASKED, env=env, input_data={"epochs": 3})
        for number in range(6):
            submit(f"short-{number}", f"echo this is short-{number}; sleep 2")
        wait("cancelled", "running")
        cancelled = fleet.ask(owners["cancelled"], "POST", f"/jobs/{ids['cancelled']}/cancel")
        assert cancelled.status_code == 202
        for name in owners:
            wait(name, "completed", "failed", "cancelled")

        maintain(first, so=True)
        # On the dead node, it goes on unheard; its second run ends at once.
        until = {"name": "UNTIL", "value": str(int(time.time()) + OUTLASTS)}
        submit(
            "returns", "while [ $(date +%s) -lt $UNTIL ]; do sleep 1; done", env=[until], retries=1
        )
        assert wait("returns", "running")["node_name"] == last
        maintain(first, so=False)
        with stopped(day.cluster, last, "kubelet", "containerd"):
            wait_until(lambda: len(pods_of(day, ids["returns"])) == 2, "it has another pod", LOST)
        wait("returns", "completed", seconds=LOST)
        for name, job_id in ids.items():
            path = f"/jobs/{job_id}/cost"
            wait_until(
                lambda u=owners[name], p=path: bool(fleet.get(u, p)["final"]),  # type: ignore[misc]
                f"{name} is charged",
            )
    day.await_well()
    wait_until(fleet.is_ready, lambda: str(fleet.pods()), 120)
    jobs = {name: fleet.get(owners[name], f"/jobs/{job_id}") for name, job_id in ids.items()}
    objects = {
        name: day.kubectl.api.get(f"{PLURAL}.{GROUP}", job_id, NAMESPACE) or {}
        for name, job_id in ids.items()
    }
    pods = {name: pods_of(day, job_id) for name, job_id in ids.items()}
    return Ran(fleet, owners, ids, jobs, objects, pods, killed, places)


def pods_of(day: Day, job_id: str) -> dict[str, Thing]:
    """The pods of a job by name."""
    found = day.kubectl.api.list("pod", NAMESPACE, labels=f"{LABEL}={job_id}")
    return {pod["metadata"]["name"]: pod for pod in found}


def closed_places(day: Day) -> list[str]:
    """What a strange program would like to reach: the database, the gateway, the node, the API."""
    api = day.kubectl.api
    services = {
        f"{name}:{port}": api.get("service", name, NAMESPACE)
        for name, port in (("gpu-workers-postgres", 5432), (GATEWAY, 443))
    }
    addresses = [
        f"{pod['status']['podIP']}:{port}"
        for labels, port in (("postgres", 5432), ("gateway", 8443))
        for pod in api.list("pod", NAMESPACE, labels=f"app.kubernetes.io/component={labels}")[:1]
    ]
    (node,) = [
        each["address"]
        for each in (api.get("node", day.cluster.nodes[0].name) or {})["status"]["addresses"]
        if each["type"] == "InternalIP"
    ]
    assert all(services.values())
    return [
        *(f"{name.replace(':', f'.{NAMESPACE}.svc:')}" for name in services),
        *addresses,
        f"{node}:6443",
        f"{node}:10250",
        "kubernetes.default.svc:443",
        "169.254.169.254:80",
    ]


def test_each_job_ends_as_it_should(ran: Ran) -> None:
    said = {name: (job["state"], job["reason"], job["exit_code"]) for name, job in ran.jobs.items()}
    expected: dict[str, tuple[str, str, int | None]] = dict.fromkeys(
        ran.jobs, ("completed", "Completed", 0)
    )
    expected |= {
        "fails": ("failed", "NonZeroExit", 7),
        "cancelled": ("cancelled", "Cancelled", None),
    }
    assert said == expected


def test_none_is_lost_and_none_is_doubled(ran: Ran, day: Day) -> None:
    """Whatever was killed: each submission is one object, and each attempt one pod."""
    assert len(ran.killed) >= 8
    objects = {
        each["metadata"]["name"] for each in day.kubectl.api.list(f"{PLURAL}.{GROUP}", NAMESPACE)
    }
    assert objects == {*ran.ids.values()}
    assert len(objects) == 10
    for user in USERS:
        listed = [job["job_id"] for job in ran.fleet.get(user, "/jobs/")["items"]]
        assert sorted(listed) == sorted(
            ran.ids[n] for n, owner in ran.owners.items() if owner == user
        )
    runs = {name: len(each["status"]["runs"]) for name, each in ran.objects.items()}
    assert runs == {name: 2 if name == "returns" else 1 for name in ran.jobs}


def test_logs_are_what_programs_wrote(ran: Ran) -> None:
    for name in ("short-0", "short-5", "fails"):
        answer = ran.fleet.ask(ran.owners[name], "GET", f"/jobs/{ran.ids[name]}/logs")
        assert answer.text == ("it fails\n" if name == "fails" else f"this is {name}\n")
    other = next(user for user in USERS if user != ran.owners["fails"])
    assert ran.fleet.ask(other, "GET", f"/jobs/{ran.ids['fails']}/logs").status_code == 404


def test_costs_are_those_of_the_times_that_the_cluster_saw(ran: Ran) -> None:
    """To the micro-unit, computed here from the pods' own times and the prices."""
    for name, job_id in ran.ids.items():
        runs = ran.objects[name]["status"]["runs"]
        for run in runs:
            pod = ran.pods[name].get(run["pod"])
            states = pod["status"].get("containerStatuses", [{}])[0].get("state", {}) if pod else {}
            if ended := states.get("terminated"):
                assert (run["startedAt"], run["finishedAt"]) == (
                    ended["startedAt"],
                    ended["finishedAt"],
                )
        cost = ran.fleet.get(ran.owners[name], f"/jobs/{job_id}/cost")
        assert micro(cost["amount"]) == sum(price_of(run) for run in runs), name


def test_the_bill_is_the_sum_of_the_jobs(ran: Ran, day: Day) -> None:
    for user in USERS:
        costs = [
            micro(ran.fleet.get(user, f"/jobs/{job_id}/cost")["amount"])
            for name, job_id in ran.ids.items()
            if ran.owners[name] == user
        ]
        assert micro(ran.fleet.get(user, "/accounts/me/balance")["settled"]) == -sum(costs)
        assert sum(costs) > 0
    reconciled = day.kubectl(
        "-n", NAMESPACE, "exec", f"deployment/{GATEWAY}", "-c", "gateway", "--",
        "python", "-m", "devctl_gateway", "reconcile",
    )  # fmt: skip
    assert reconciled


def test_a_program_reaches_nothing_of_the_cluster(ran: Ran) -> None:
    answer = ran.fleet.ask(ran.owners["probe"], "GET", f"/jobs/{ran.ids['probe']}/logs")
    assert answer.text.splitlines() == [
        *(f"{place} closed" for place in ran.places),
        "names found",
        "no token",
        "uid 1000, epochs 3",
    ]


def micro(amount: str) -> int:
    """An amount in micro-units."""
    return int(Fraction(amount) * 10**6)


def price_of(run: Thing) -> int:
    """What a run of SMALL costs in micro-units, each part rounded once, halves up."""
    times = [datetime.fromisoformat(run[name]) for name in ("startedAt", "finishedAt")]
    seconds = int((times[1] - times[0]).total_seconds())
    held = (Fraction(1), Fraction(1), Fraction(MEMORY, 1024))
    return sum(
        int(Fraction(price) * 10**6 * seconds * each / 3600 + Fraction(1, 2))
        for price, each in zip(PRICES.values(), held, strict=True)
    )
