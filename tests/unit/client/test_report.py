"""Who uses what: the computation, and the requests that it takes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from devctl.api.labels import OWNER_NAME
from devctl.api.quantities import GPU, GPU_BY_CLAIM
from devctl.client.flavors import Flavor
from devctl.client.homes import Volume
from devctl.client.jobs.job import Job
from devctl.client.report import Report, Usage, report
from devctl.client.servers import Server
from devctl.client.users import Use, User, Users
from unit.client.job_things import job
from unit.client.objects import CLAIMS, FLAVORS, SERVERS, flavor, home, server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unit.client.fake_cluster import FakeApi

Thing = dict[str, Any]
GI = Decimal(2**30)
LARGE = {"cpu": "1500m", "memory": "2Gi", GPU: "2"}
CARD = {"resources": {"gpu": 1, "cpu": "500m", "memory": "1Gi"}}


def user(name: str, team: str = "", namespace: str = "") -> Thing:
    spec = {"username": f"{name}@company.com", "team": team, "namespace": namespace}
    spec = {field: value for field, value in spec.items() if value}
    return {"metadata": {"name": name, "generation": 1}, "spec": spec}


def of(thing: Thing, namespace: str, **annotations: str) -> Thing:
    """A thing in a namespace."""
    metadata = {"namespace": namespace, "annotations": annotations}
    return thing | {"metadata": thing["metadata"] | metadata}


def made(
    users: Sequence[Thing] = (),
    servers: Sequence[Thing] = (),
    jobs: Sequence[Thing] = (),
    claims: Sequence[Thing] = (),
    flavors: Sequence[Thing] = (),
    **how: Any,
) -> Report:
    return report(
        map(User, users),
        map(Server, servers),
        map(Job, jobs),
        map(Volume, claims),
        flavors=map(Flavor, flavors),
        **how,
    )


def test_a_users_servers_jobs_and_volumes() -> None:
    quota = {"alice": [Use("gpus", "5", "8")]}
    servers = [
        server("one", replicas=2, requests=LARGE),
        server("two", "Starting", requests=LARGE),
        server("off", "Stopped"),
        server("next", "Pending"),
        server("bad", "Failed"),
        server("odd", "Hibernating", requests=LARGE),
    ]
    servers[3]["status"]["replicaStatuses"] = [{"ordinal": 0, "phase": "Pending"}]
    servers[4]["status"]["replicaStatuses"] = []
    jobs = [job("a", "Running", spec=CARD), job("b", "Succeeded", spec=CARD), job("c")]
    claims = [home(size="10Gi"), home("two", size="500Mi", ours=False)]
    (row,) = made([user("alice", "vision")], servers, jobs, claims, quotas=quota).rows
    assert (row.user, row.owner, row.team) == ("alice", "alice@company.com", "vision")
    assert row.used == Usage(
        *(3, 1, 1, 1, 1),
        gpus=Decimal(2 * 2 + 2 + 2 * 1 + 1),
        cpu=Decimal("6.5"),
        memory=9 * GI,
        storage=10 * GI + 500 * 2**20,
    )
    assert row.raw == {
        "user": "alice",
        "owner": "alice@company.com",
        "team": "vision",
        "servers": {"running": 3, "stopped": 1, "waiting": 1, "failed": 1},
        "jobs": {"running": 1},
        "gpus": "9",
        "cpu": "6500m",
        "memory": "9Gi",
        "storage": "10740Mi",
        "quota": {"gpus": {"used": "5", "free": "3", "quota": "8"}},
    }


def test_what_is_in_no_users_namespace_is_its_owners() -> None:
    servers = [
        of(server("a", requests=LARGE), "research"),
        of(server("b", spec={"owner": "bob@company.com"}), "research"),
        # An administrator's, in a user's namespace.
        of(server("c", spec={"owner": "root"}), "dev-carol"),
    ]
    claims = [
        of(home(size="1Gi"), "research", **{OWNER_NAME: "dave"}),
        of(home("db", size="9Gi", ours=False), "monitoring"),
    ]
    found = made([user("carol")], servers, [of(job("j", "Running"), "research")], claims)
    rows = [(row.user, row.owner, row.used.running, int(row.used.gpus)) for row in found.rows]
    assert rows == [
        ("carol", "carol@company.com", 1, 0),
        ("", "", 0, 1),
        ("", "alice@company.com", 1, 2),
        ("", "bob@company.com", 1, 0),
        ("", "dave", 0, 0),
    ]
    assert found.total.storage == GI
    assert found.rows[1].raw["user"] is found.rows[1].raw["owner"] is None


def test_without_recorded_requests_the_flavor_counts() -> None:
    small = flavor("cpu-small", {"cpu": "1"}, default=True)
    small["spec"]["resources"]["limits"] = {"memory": "1Gi"}
    unnamed = server("b", spec={"flavor": None})
    gone = server("c", replicas=2, spec={"flavor": "gone"})
    off = server("d", "Stopped", spec={"flavor": "gone"})
    found = made([user("alice")], [server("a"), unnamed, gone, off], flavors=[small])
    assert found.total == Usage(3, 1, cpu=Decimal(2), memory=2 * GI)
    assert found.unknown == ["dev-alice/c"]
    # What the pods were created from counts, not what the next ones will be.
    changed = server("a", requests=LARGE)
    assert made([user("alice")], [changed], flavors=[small]).total.gpus == 2


def test_a_team_is_its_members() -> None:
    users = [user("alice", "vision"), user("bob"), user("carol", "vision")]
    servers = [server(requests=LARGE), of(server("x"), "dev-bob"), of(server("x"), "research")]
    found = made(users, servers, team="vision")
    assert [row.user for row in found.rows] == ["alice", "carol"]
    assert found.total.running == 1
    assert found.unknown == []
    assert made(users, servers, team="none").rows == []


def test_of_users_with_one_namespace_the_ready_one_has_it() -> None:
    ready = {"type": "Ready", "status": "True", "observedGeneration": 1}
    users = [user("bob", namespace="dev-alice"), user("zoe", namespace="dev-alice")]
    users[1]["status"] = {"conditions": [ready]}
    used = {row.user: row.used.running for row in made(users, [server(requests=LARGE)]).rows}
    assert used == {"bob": 0, "zoe": 1}


def test_one_list_request_per_kind(api: FakeApi) -> None:
    for name in ("alice", "bob"):
        api.add("devserverusers", user(name))
    quota = {"labels": {"devops.yourcompany.com/devserveruser": "bob"}, "name": "devctl-quota"}
    status = {"hard": {"requests.cpu": "4"}, "used": {"requests.cpu": "500m"}}
    api.add("resourcequotas", {"metadata": quota | {"namespace": "dev-bob"}, "status": status})
    api.add(SERVERS, *(server(f"s{n}") for n in range(600)), of(server("x"), "dev-bob"))
    api.add(FLAVORS, flavor())
    api.add(CLAIMS, home())
    found = Users(api.cluster()).report()
    assert [row.used.running for row in found.rows] == [600, 1]
    assert found.rows[1].quota == [Use("cpu", "500m", "4")]
    assert sorted(api.requests) == [
        "GET devserverflavors",
        *["GET devservers"] * 2,
        "GET devserverusers",
        "GET ephemeralaccelerationjobs",
        "GET persistentvolumeclaims",
        "GET resourcequotas",
    ]


PLACES = ("dev-alice", "dev-bob", "research", "lost")
OWNERS = ("alice@company.com", "eve", "")


@st.composite
def servers_of_many(draw: st.DrawFn) -> tuple[Thing, int, Decimal]:
    """A server, its GPUs and its memory in use."""
    phase = draw(st.sampled_from(["Running", "Starting", "Pending", "Stopped", "Failed", "New"]))
    pods, gpus = draw(st.integers(1, 3)), draw(st.integers(0, 8))
    memory = draw(st.integers(0, 2**40))
    requests = {draw(st.sampled_from([GPU, GPU_BY_CLAIM])): str(gpus), "memory": str(memory)}
    owner = draw(st.sampled_from(OWNERS))
    made_one = server("x", phase, replicas=pods, spec={"owner": owner}, requests=requests)
    held = 0 if phase == "Stopped" else pods
    place = draw(st.sampled_from(PLACES))
    return of(made_one, place), gpus * held, Decimal(memory * held)


@given(
    st.lists(servers_of_many(), max_size=12),
    st.lists(st.tuples(st.sampled_from(PLACES), st.integers(0, 4)), max_size=6),
    st.lists(st.tuples(st.sampled_from(PLACES), st.integers(0, 2**45)), max_size=6),
)
def test_the_total_is_the_sum_of_everything(
    servers: list[tuple[Thing, int, Decimal]],
    jobs: list[tuple[str, int]],
    claims: list[tuple[str, int]],
) -> None:
    found = made(
        [user("alice"), user("bob", "vision"), user("idle")],
        [thing for thing, _, _ in servers],
        [of(job("j", "Running", spec={"resources": {"gpu": n}}), place) for place, n in jobs],
        [of(home(size=str(n)), place, **{OWNER_NAME: "eve"}) for place, n in claims],
    )
    total = found.total
    assert total.running + total.stopped + total.waiting + total.failed == len(servers)
    assert total.jobs == len(jobs)
    assert total.gpus == sum(gpus for _, gpus, _ in servers) + sum(n for _, n in jobs)
    assert total.memory == sum(memory for _, _, memory in servers)
    assert total.storage == sum(n for _, n in claims)
    for name, amount in vars(total).items():
        assert amount == sum(getattr(row.used, name) for row in found.rows)
    # Nobody is listed twice, and nothing but users is listed without using anything.
    assert len({(row.user, row.owner) for row in found.rows}) == len(found.rows)
    assert [row.user for row in found.rows[:3]] == ["alice", "bob", "idle"]
