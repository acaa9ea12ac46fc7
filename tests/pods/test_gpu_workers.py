"""Ten jobs of three users of the GPU workers API, while its replicas are killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.servers import wait_until
from support.worker_costs import micro, price_of
from support.worker_fleet import GATEWAY, Fleet

from devctl.api.gpu_worker_job import GROUP, NAMESPACE, PLURAL

if TYPE_CHECKING:
    from support.commands import Kubectl

    from devctl.local.settings import ClusterSettings

Thing = dict[str, Any]
USERS = [f"{name}-{uuid4().hex[:6]}" for name in ("ada", "bob", "eve")]
FILE = "/artifacts/said.txt"
EVERY = 25.0
"""Seconds from one killed replica to the next: a busy machine needs most of them until it is back,
and requests wait no longer than two minutes for one that serves."""
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
        costs: In micro-units, by name.
        objects: The cluster's own objects of them, by name.
        pods: How their pods ended as far as they are still there, by name and pod.
        killed: The replicas that were killed.
        places: Where the probe could have gone.
    """

    fleet: Fleet
    owners: dict[str, str]
    ids: dict[str, str]
    jobs: dict[str, Thing]
    costs: dict[str, int]
    objects: dict[str, Thing]
    pods: dict[str, dict[str, Thing]]
    killed: list[str]
    places: list[str]


@pytest.fixture(scope="module")
def ran(fleet: Fleet, cluster: ClusterSettings) -> Ran:
    ids: dict[str, str] = {}
    owners: dict[str, str] = {}

    def submit(name: str, script: str, **more: Any) -> None:
        owners[name] = USERS[len(owners) % len(USERS)]
        ids[name] = fleet.submit(owners[name], name, script, **more)

    for user in USERS:
        fleet.login(user)
    places = closed_places(fleet.kubectl, cluster.nodes[0].name)
    env = [{"name": "PLACES", "value": " ".join(places)}]
    with fleet.dying(EVERY) as killed:
        submit("cancelled", "trap exit TERM; sleep 3600 & wait")
        submit("fails", "echo it fails; exit 7")
        submit("probe", ASKED, env=env, input_data={"epochs": 3})
        for number in range(7):
            submit(f"short-{number}", f"echo this is short-{number} | tee {FILE}; sleep 2")
        cancelled = owners["cancelled"], ids["cancelled"]
        fleet.wait(*cancelled, "running")
        answer = fleet.ask(cancelled[0], "POST", f"/jobs/{cancelled[1]}/cancel")
        assert answer.status_code == 202
        jobs = {
            name: fleet.wait(owner, ids[name], "completed", "failed", "cancelled", seconds=240)
            for name, owner in owners.items()
        }
        costs = {name: fleet.cost(owner, ids[name]) for name, owner in owners.items()}
        wait_until(lambda: len(killed) >= 2, lambda: f"killed: {killed}")
    wait_until(fleet.is_ready, lambda: str(fleet.replicas()), 120)
    objects = {name: fleet.object(job_id) for name, job_id in ids.items()}
    pods = {name: fleet.pods_of(job_id) for name, job_id in ids.items()}
    return Ran(fleet, owners, ids, jobs, costs, objects, pods, killed, places)


def closed_places(kubectl: Kubectl, first: str) -> list[str]:
    """What a strange program would like to reach: the database, the gateway, the node, the API."""
    api = kubectl.api
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
        for each in (api.get("node", first) or {})["status"]["addresses"]
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


def test_none_is_lost_and_none_is_doubled(ran: Ran, kubectl: Kubectl) -> None:
    """Whatever was killed: each submission is one object, and has run in one pod."""
    assert len(ran.killed) >= 2
    accounts = {ran.fleet.get(user, "/accounts/me")["id"] for user in USERS}
    objects = [
        each["metadata"]["name"]
        for each in kubectl.api.list(f"{PLURAL}.{GROUP}", NAMESPACE)
        if each["spec"]["owner"] in accounts
    ]
    assert sorted(objects) == sorted(ran.ids.values())
    assert len(objects) == 10
    for user in USERS:
        listed = [job["job_id"] for job in ran.fleet.get(user, "/jobs/")["items"]]
        assert sorted(listed) == sorted(ran.ids[name] for name in jobs_of(ran, user))
    runs = {name: len(each["status"]["runs"]) for name, each in ran.objects.items()}
    assert runs == dict.fromkeys(ran.jobs, 1)


def test_logs_and_files_are_what_programs_wrote(ran: Ran) -> None:
    for name in ("short-0", "short-6", "fails"):
        owner, job_id = ran.owners[name], ran.ids[name]
        wrote = "it fails\n" if name == "fails" else f"this is {name}\n"
        assert ran.fleet.ask(owner, "GET", f"/jobs/{job_id}/logs").text == wrote
        files = ran.fleet.get(owner, f"/jobs/{job_id}/artifacts")["items"]
        if name == "fails":
            assert files == []
        else:
            assert [(each["path"], each["size"]) for each in files] == [("said.txt", len(wrote))]
            got = ran.fleet.ask(owner, "GET", f"/jobs/{job_id}/artifacts/said.txt")
            assert got.text == wrote
        other = next(user for user in USERS if user != owner)
        for what in ("logs", "artifacts"):
            assert ran.fleet.ask(other, "GET", f"/jobs/{job_id}/{what}").status_code == 404


def test_costs_are_those_of_the_times_that_the_cluster_saw(ran: Ran) -> None:
    """To the micro-unit, computed here from the pods' own times and the prices."""
    compared = 0
    for name, each in ran.objects.items():
        (run,) = each["status"]["runs"]
        assert ran.costs[name] == price_of(run), name
        pod = ran.pods[name].get(run["podName"])
        if pod:  # that of a job that was cancelled is gone
            (status,) = pod["status"]["containerStatuses"]
            ended = status["state"]["terminated"]
            names = ("startedAt", "finishedAt")
            assert [run[which] for which in names] == [ended[which] for which in names]
            compared += 1
    assert compared >= 9


def test_a_bill_is_the_sum_of_its_jobs(ran: Ran, kubectl: Kubectl) -> None:
    for user in USERS:
        total = sum(ran.costs[name] for name in jobs_of(ran, user))
        assert total > 0
        assert micro(ran.fleet.get(user, "/accounts/me/balance")["settled"]) == -total
    program = ("python", "-m", "devctl_gateway", "reconcile")
    kubectl("-n", NAMESPACE, "exec", f"deployment/{GATEWAY}", "-c", "gateway", "--", *program)


def test_a_program_reaches_nothing_of_the_cluster(ran: Ran) -> None:
    answer = ran.fleet.ask(ran.owners["probe"], "GET", f"/jobs/{ran.ids['probe']}/logs")
    assert answer.text.splitlines() == [
        *(f"{place} closed" for place in ran.places),
        "names found",
        "no token",
        "uid 1000, epochs 3",
    ]


def jobs_of(ran: Ran, user: str) -> list[str]:
    """The names of somebody's jobs."""
    return [name for name, owner in ran.owners.items() if owner == user]
