"""Why a server or job waits in its team's queue, and what keeps a new server from starting."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.api import workloads
from devctl.api.quantities import GPU
from devctl.client.client import Client
from devctl.client.queues import team_quota
from devctl.client.queues.limits import Effect, Limit
from devctl.errors import DevctlError
from unit.client.fake_cluster import FakeApi
from unit.client.job_things import JOBS, job
from unit.client.objects import FLAVORS, NAMESPACE, NOW, SERVERS, ago, server
from unit.client.workload_things import WORKLOADS, gpu_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.queues.team_quota import TeamQuota

SHORT = "couldn't assign flavors: insufficient unused quota for cpu in flavor gpu, 1 more needed"
PENDING = f"apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/localqueues/%s"
LATER = ago(hours=-2)


def flavor(name: str, free: int = 10, total: int = 10, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"resources": {"requests": {"cpu": "2", "memory": "4Gi"}}, **spec},
        "status": {"free": free, "total": total, "schedulable": total > 0},
    }


def cluster_queue(  # noqa: PLR0913 - each is a choice of the test
    team: str = "vision",
    of: str = "gpu",
    *,
    pods: int = 4,
    used: int = 0,
    waiting: int = 0,
    borrow: int | None = None,
    cohort: str = "devctl",
) -> dict[str, Any]:
    def amounts(count: int) -> dict[str, str]:
        return {"cpu": f"{2 * count}", "memory": f"{4 * count}Gi"}

    resources = [{"name": name, "nominalQuota": n} for name, n in amounts(pods).items()]
    if borrow is not None:
        for resource in resources:
            resource["borrowingLimit"] = amounts(borrow)[resource["name"]]
    taken = [{"name": name, "total": n} for name, n in amounts(used).items()]
    return {
        "metadata": {"name": f"{team}.{of}"},
        "spec": {
            "cohortName": cohort,
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [{"name": of, "resources": resources}],
                }
            ],
        },
        "status": {
            "flavorsReservation": [{"name": of, "resources": taken}],
            "pendingWorkloads": waiting,
        },
    }


def local_queue(of: str = "gpu", team: str = "vision") -> dict[str, Any]:
    return {"metadata": {"name": f"devctl-{of}"}, "spec": {"clusterQueue": f"{team}.{of}"}}


def workload(
    of: str, pods: int = 1, namespace: str = NAMESPACE, *, admitted: bool = False
) -> dict[str, Any]:
    status: dict[str, Any] = {"admission": {"clusterQueue": "vision.gpu"}}
    if not admitted:
        said = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": SHORT}
        status = {"conditions": [said]}
    return {
        "metadata": {
            "name": f"statefulset-{of}-1",
            "namespace": namespace,
            "ownerReferences": [{"kind": "StatefulSet", "name": of}],
        },
        "spec": {"queueName": "devctl-gpu", "podSets": [{"name": "main", "count": pods}]},
        "status": status,
    }


def queued(name: str = "lab", **more: Any) -> dict[str, Any]:
    spec = {"flavor": "gpu", "team": "vision"}
    return server(name, "Pending", reason="Queued", message="waiting", spec=spec, **more)


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    a_team(api)
    return api


def queued_job(name: str = "scan", **resources: Any) -> dict[str, Any]:
    wanted = {"cpu": "500m", "memory": "1Gi", "gpu": 0} | resources
    spec = {"flavor": "gpu", "team": "vision", "resources": wanted}
    return job(name, "Pending", spec=spec, reason="Queued", message="waiting")


def pod_workload(of: str, cpu: str = "", namespace: str = NAMESPACE) -> dict[str, Any]:
    """A job's; one that has quota uses some CPUs of it."""
    found = workload(of, namespace=namespace, admitted=bool(cpu))
    found["metadata"] |= {
        "name": f"pod-{of}-1",
        "ownerReferences": [{"kind": "Pod", "name": f"ephemeralaccelerationjob-{of}"}],
    }
    if cpu:
        used = {"name": "main", "resourceUsage": {"cpu": cpu, "memory": "1Gi"}}
        found["status"]["admission"]["podSetAssignments"] = [used]
    return found


def a_team(api: FakeApi) -> None:
    """A team with two flavors, one of which is used up."""
    api.add(FLAVORS, flavor("gpu"), flavor("small", default=True))
    api.add("localqueues", local_queue(), local_queue("small"))
    api.add("clusterqueues", cluster_queue(used=4, waiting=1), cluster_queue(of="small"))
    api.add(SERVERS, queued(), server("first", "Running", expiresAt=LATER))
    api.add("workloads", workload("lab"), workload("first", 3, admitted=True))
    places(api, ("lab", 0))


def places(api: FakeApi, *found: tuple[str, int], queue: str = "devctl-gpu") -> None:
    items = [
        {"metadata": {"name": f"statefulset-{name}-1"}, "positionInClusterQueue": position}
        for name, position in found
    ]
    path = f"{PENDING % queue}/pendingworkloads"
    api.answers[path] = httpx2.Response(200, json={"items": items})


def client(api: FakeApi) -> Client:
    return Client(api.cluster())


def test_examples() -> None:
    for module in (team_quota, workloads):
        assert doctest.testmod(module).failed == 0


def test_all_about_a_server_that_waits(api: FakeApi) -> None:
    found = client(api).servers.waiting_for("lab")
    assert found
    assert (found.team, found.flavor, found.queue) == ("vision", "gpu", "devctl-gpu")
    assert found.place == 1
    assert found.why == "not enough quota is free: it needs 1 more cpu"
    assert [(each.resource, each.amount) for each in found.short] == [("cpu", "1")]
    assert found.quota
    assert (found.quota.used, found.quota.pods) == (4, 4)
    assert [(str(holder), holder.pods) for holder in found.holders] == [("`first`", 3)]
    assert found.unseen == 1
    assert found.fits == ["small"]
    assert found.estimate
    assert (found.estimate - NOW).total_seconds() == 7200
    assert found.basis == "based on when `first` will be deleted (--ttl)"


def test_a_cordoned_flavor_is_not_suggested(api: FakeApi) -> None:
    api.add(FLAVORS, flavor("small", cordoned=True))
    found = client(api).servers.waiting_for("lab")
    assert found
    assert found.fits == []


def test_a_cordoned_flavor_is_a_limit_of_new_servers(api: FakeApi) -> None:
    api.add(FLAVORS, flavor("small", default=True, cordoned=True))
    servers = client(api).servers
    named, default = servers.limits("new", flavor="small"), servers.limits("new", image="a:1")
    for limits in (named, default):
        assert (limits[0].name, limits[0].effect) == ("flavor", Effect.NEVER)
        assert limits[0].message == "flavor `small` is cordoned: it takes no new servers"


def test_a_server_that_does_not_wait_costs_nothing(api: FakeApi) -> None:
    assert client(api).servers.waiting_for("first") is None
    assert api.requests == ["GET devservers/first"]


def test_a_server_that_others_are_ahead_of_has_no_estimate(api: FakeApi) -> None:
    places(api, ("other", 0), ("lab", 1))
    found = client(api).servers.waiting_for("lab")
    assert found
    assert (found.place, found.estimate) == (2, None)
    assert found.basis == "no estimate: another one is ahead of it"


def test_holders_without_a_time_to_live_give_no_estimate(api: FakeApi) -> None:
    api.add(SERVERS, server("first", "Running"))
    found = client(api).servers.waiting_for("lab")
    assert found
    assert found.estimate is None
    assert "too little of the quota is held by servers with a time to live" in found.basis


def test_of_others_servers_the_namespace_is_named(api: FakeApi) -> None:
    api.add("workloads", workload("theirs", 1, "dev-bob", admitted=True))
    found = client(api).servers.waiting_for("lab")
    assert found
    assert [str(holder) for holder in found.holders] == ["`first`", "`dev-bob/theirs`"]
    assert found.unseen == 0


def test_without_rights_the_status_still_tells(api: FakeApi) -> None:
    for plural in ("workloads", "localqueues", "clusterqueues"):
        api.refusals["GET", plural] = (403, "forbidden")
    api.refusals["GET", f"{PENDING % 'devctl-gpu'}/pendingworkloads"] = (403, "forbidden")
    found = client(api).servers.waiting_for("lab")
    assert found
    assert (found.team, found.flavor, found.why) == ("vision", "gpu", "waiting")
    assert (found.place, found.holders, found.fits) == (None, (), [])
    assert found.basis.startswith("no estimate: you may not see")


def test_a_kueue_that_is_down_leaves_out_the_place(api: FakeApi) -> None:
    api.refusals["GET", f"{PENDING % 'devctl-gpu'}/pendingworkloads"] = (503, "no endpoints")
    found = client(api).servers.waiting_for("lab")
    assert found
    assert found.place is None
    assert found.basis == "no estimate: its place in the queue is not known"


def test_all_about_a_job_that_waits(api: FakeApi) -> None:
    api.add(JOBS, queued_job())
    api.add("workloads", pod_workload("scan"), pod_workload("other", "1"))
    api.answers[f"{PENDING % 'devctl-gpu'}/pendingworkloads"] = httpx2.Response(
        200, json={"items": [{"metadata": {"name": "pod-scan-1"}, "positionInClusterQueue": 2}]}
    )
    found = client(api).jobs.waiting_for("scan")
    assert found
    assert (found.name, found.team, found.flavor, found.place) == ("scan", "vision", "gpu", 3)
    assert found.why == "not enough quota is free: it needs 1 more cpu"
    # Half a pod of the flavor is one.
    told = [(str(holder), holder.pods) for holder in found.holders]
    assert told == [("`first`", 3), ("job `other`", 1)]
    assert found.unseen == 0
    assert found.fits == ["small"]
    assert found.basis == "no estimate: 2 are ahead of it"


def test_a_job_counts_by_what_it_requests(api: FakeApi) -> None:
    api.add(JOBS, queued_job(cpu="5"))
    api.add("workloads", pod_workload("scan"), pod_workload("big", "5"))
    found = client(api).jobs.waiting_for("scan")
    assert found
    assert [holder.pods for holder in found.holders if holder.job] == [3]
    # No node may have room for as much as several pods of the other flavor.
    assert found.fits == []
    api.add(JOBS, queued_job(gpu=1))
    again = client(api).jobs.waiting_for("scan")
    assert again
    assert again.fits == []


def test_a_job_that_does_not_wait_in_a_queue_costs_nothing(api: FakeApi) -> None:
    api.add(JOBS, job("scan", "Pending", reason="Queued", message="another gate"))
    api.requests.clear()
    assert client(api).jobs.waiting_for("scan") is None
    assert api.requests == [f"GET {JOBS}/scan"]


def quotas(api: FakeApi) -> Sequence[TeamQuota]:
    return client(api).users.team_quotas() or []


@pytest.mark.parametrize(
    ("own", "others", "free", "most"),
    [
        # Nobody lends.
        ({"used": 1}, [], 3, 4),
        # All that is unused.
        ({"used": 4}, [{"team": "nlp", "used": 1}], 3, 8),
        # Up to a limit, which is used in part.
        ({"used": 5, "borrow": 2}, [{"team": "nlp"}], 1, 6),
        # Another cohort lends nothing.
        ({"used": 4}, [{"team": "nlp", "cohort": "other"}], 0, 4),
        # The others have borrowed from this one.
        ({"used": 0}, [{"team": "nlp", "used": 6}], 2, 8),
    ],
)
def test_what_a_team_may_use(
    own: dict[str, Any], others: list[dict[str, Any]], free: int, most: int
) -> None:
    api = FakeApi()
    api.add(FLAVORS, flavor("gpu"))
    api.add("localqueues", local_queue())
    api.add("clusterqueues", cluster_queue(**own), *(cluster_queue(**each) for each in others))
    (found,) = quotas(api)
    assert (found.team, found.pods, found.used) == ("vision", 4, own["used"])
    assert (found.free, found.most) == (free, most)


def test_without_kueue_there_are_no_quotas_of_teams() -> None:
    api = FakeApi()
    api.refusals["GET", "localqueues"] = (404, "404 page not found")
    assert list(quotas(api)) == []
    api.refusals["GET", "localqueues"] = (403, "forbidden")
    assert client(api).users.team_quotas() is None


def told(api: FakeApi, **options: Any) -> list[tuple[str, Effect]]:
    found: Sequence[Limit] = client(api).servers.limits("new", **options)
    return [(limit.name, limit.effect) for limit in found]


def test_nothing_limits_a_server_that_fits(api: FakeApi) -> None:
    assert told(api, flavor="small") == []
    assert told(api) == []
    assert told(api, flavor="gpu", stopped=True) == []


def test_the_limit_of_a_team(api: FakeApi) -> None:
    assert told(api, flavor="gpu") == [("team", Effect.WAITS)]
    (limit,) = client(api).servers.limits("new", flavor="gpu")
    assert limit.message == (
        "team `vision` has 0 of 4 pods of flavor `gpu` free, and it needs 1; 1 waits already"
    )
    assert told(api, flavor="gpu", replicas=9) == [("team", Effect.NEVER)]
    api.add(FLAVORS, flavor("large"))
    (limit,) = client(api).servers.limits("new", flavor="large")
    assert "no quota of flavor `large`; it has some of `gpu`, `small`" in limit.message
    api.add(FLAVORS, flavor("gpu", cordoned=True), flavor("small", cordoned=True))
    (limit,) = client(api).servers.limits("new", flavor="large")
    assert limit.message == "team `vision` has no quota of flavor `large`"


def test_the_limit_of_nodes(api: FakeApi) -> None:
    api.add(FLAVORS, flavor("small", free=0))
    assert told(api, flavor="small") == [("nodes", Effect.WAITS)]
    api.add(FLAVORS, flavor("small", total=1))
    assert told(api, flavor="small", replicas=2) == [("nodes", Effect.NEVER)]
    api.add(FLAVORS, flavor("small", total=0))
    assert told(api, flavor="small") == [("flavor", Effect.NEVER)]


def test_the_limit_of_a_namespace(api: FakeApi) -> None:
    hard, used = {"requests.cpu": "8", "pods": "3"}, {"requests.cpu": "5", "pods": "1"}
    quota = {"metadata": {"name": "devctl-quota"}, "spec": {"hard": hard}}
    api.add("resourcequotas", quota | {"status": {"hard": hard, "used": used}})
    assert told(api, flavor="small") == []
    assert told(api, flavor="small", replicas=2) == [("quota", Effect.WAITS)]
    assert ("quota", Effect.NEVER) in told(api, flavor="small", replicas=5)
    (limit,) = client(api).servers.limits("new", flavor="small", replicas=2)
    assert limit.message == (
        "quota `devctl-quota` has 5 of 8 requests.cpu in use, and it needs 4 more"
    )


def test_volumes_and_the_worst_limit_comes_first(api: FakeApi) -> None:
    found = told(api, flavor="gpu", shared="data")
    assert found == [("volumes", Effect.NEVER), ("team", Effect.WAITS)]
    api.add("persistentvolumeclaims", {"metadata": {"name": "data"}, "status": {"phase": "Bound"}})
    assert told(api, flavor="small", shared="data") == []


def test_a_preempted_server_says_so_to_who_waits_for_it(api: FakeApi) -> None:
    message = "preempted because a server or job with a higher priority needed its quota"
    api.add(SERVERS, server("lab", "Stopped", reason="Preempted", message=message))
    with pytest.raises(DevctlError, match="`lab` is stopped: preempted because"):
        client(api).servers.wait_ready("lab", 1)


def gpu_job(of: str, attempt: int = 1, *, gpus: int = 0, over: bool = False) -> dict[str, Any]:
    """Kueue's object of an attempt of a GPU workload; one with GPUs has quota."""
    found = workload(of, admitted=bool(gpus))
    owner = {"kind": "Job", "name": f"{of}-{attempt}"}
    found["metadata"] |= {"name": f"job-{of}-{attempt}", "ownerReferences": [owner]}
    if gpus:
        used = {"name": "main", "resourceUsage": {"cpu": "1", "memory": "1Gi"}}
        found["status"]["admission"]["podSetAssignments"] = [used]
    if over:
        found["status"]["conditions"] = [{"type": "Finished", "status": "True"}]
    return found


def queued_workload(**spec: Any) -> dict[str, Any]:
    wanted = {"queueName": "devctl-gpu"} | spec
    return gpu_workload("llama", "Pending", spec=wanted, reason="Queued", message="waiting")


def test_all_about_a_gpu_workload_that_waits(api: FakeApi) -> None:
    api.add(WORKLOADS, queued_workload())
    # A job may have its name; and of an earlier attempt, only the record is left.
    api.add("workloads", pod_workload("llama", "1"), gpu_job("llama", 1, gpus=1, over=True))
    api.add("workloads", gpu_job("llama", 2), gpu_job("other", 1, gpus=1))
    api.answers[f"{PENDING % 'devctl-gpu'}/pendingworkloads"] = httpx2.Response(
        200, json={"items": [{"metadata": {"name": "job-llama-2"}, "positionInClusterQueue": 1}]}
    )
    found = client(api).workloads.waiting_for("llama")
    assert found
    assert (found.name, found.team, found.flavor, found.place) == ("llama", "vision", "gpu", 2)
    assert found.why == "not enough quota is free: it needs 1 more cpu"
    told = [(str(holder), holder.pods) for holder in found.holders]
    assert told == [("`first`", 3), ("job `llama`", 1), ("job `other`", 1)]


def test_a_gpu_workload_in_a_queue_of_somebody_elses_making(api: FakeApi) -> None:
    api.add(WORKLOADS, queued_workload(queueName="gpus"))
    found = client(api).workloads.waiting_for("llama")
    assert found
    assert (found.queue, found.flavor, found.team, found.quota) == ("gpus", "gpus", "", None)


@pytest.mark.parametrize(
    ("nodes", "cpu", "fits"), [(1, "2", True), (4, "2", True), (5, "2", False), (1, "3", False)]
)
def test_a_gpu_workload_needs_room_for_all_of_its_pods(nodes: int, cpu: str, *, fits: bool) -> None:
    api = FakeApi()
    requests = {"cpu": "2", "memory": "4Gi", GPU: "2"}
    api.add(FLAVORS, *(flavor(name, resources={"requests": requests}) for name in ("gpu", "large")))
    api.add("localqueues", local_queue(), local_queue("large"))
    for queue in (cluster_queue(used=4), cluster_queue(of="large")):
        (group,) = queue["spec"]["resourceGroups"]
        group["flavors"][0]["resources"].append({"name": GPU, "nominalQuota": 8})
        api.add("clusterqueues", queue)
    resources = {"cpu": cpu, "memory": "1Gi"}
    api.add(WORKLOADS, queued_workload(nodes=nodes, resources=resources))
    found = client(api).workloads.waiting_for("llama")
    assert found
    assert found.fits == (["large"] if fits else [])


def test_a_preempted_gpu_workload_waits_again(api: FakeApi) -> None:
    thing = queued_workload()
    thing["status"]["reason"] = "Preempted"
    api.add(WORKLOADS, thing)
    assert client(api).workloads.waiting_for("llama")


@pytest.mark.parametrize("spec", [{"queueName": ""}, {"stopped": True}])
def test_a_gpu_workload_that_does_not_wait_costs_nothing(
    spec: dict[str, Any], api: FakeApi
) -> None:
    api.add(WORKLOADS, queued_workload(**spec))
    assert client(api).workloads.waiting_for("llama") is None
    assert api.requests == [f"GET {WORKLOADS}/llama"]
