"""DevServerTeams: queues and who may use them, shared volumes, and what members may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.asked import delete, get, patch
from support.kueue import kueue_kinds
from support.one import One
from support.plane.content import pod
from support.servers import (
    SMALL,
    TWO_RANKS,
    DevServer,
    apply_flavor,
    wait_until,
)
from support.tenants import ADMINISTRATOR, Tenants, role, server

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import TEAM, USER
from devctl.api.queues import MEMBERS, PRIORITY_CLASS, QUEUE_NAME, cluster_queue, local_queue
from devctl.api.teams import SPACE, claim_name, volume_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed", "enforced")

Thing = dict[str, Any]


@dataclass(frozen=True)
class Members:
    """A team with two flavors, and two members.

    Attributes:
        kubectl: The administrator's.
        name: Of the team; flavors and users begin with it.
    """

    kubectl: Kubectl
    name: str

    @property
    def flavors(self) -> tuple[str, str]:
        return f"{self.name}-one", f"{self.name}-two"

    @property
    def team(self) -> One:
        return One(self.kubectl.api, TEAM, self.name)

    def user(self, name: str) -> One:
        return One(self.kubectl.api, USER, f"{self.name}-{name}")

    def username(self, name: str) -> str:
        return f"{self.name}-{name}@company.com"

    def space(self, name: str) -> Tenants:
        """What the API server says to requests in a member's namespace."""
        return Tenants(self.kubectl, namespace_of(f"{self.name}-{name}"))

    def join(self, name: str, team: str | None = None, **spec: Any) -> None:
        """Create or change a member."""
        team = self.name if team is None else team
        common = {"username": self.username(name), "defaultFlavor": self.flavors[0]}
        self.user(name).apply(**common, **({"team": team} if team else {}), **spec)

    def quota(self, *pods: int, **spec: Any) -> None:
        """Give the team quota of its first flavors."""
        quotas = [
            {"name": flavor, "pods": n} for flavor, n in zip(self.flavors, pods, strict=False)
        ]
        self.team.apply(flavors=quotas, **spec)

    def server(self, name: str, of: str) -> DevServer:
        """A server of a member's, as the administrator looks at it."""
        own = {"owner": self.username(of), "image": "any:1", "persistentHomeSize": "1Mi"}
        return DevServer(self.kubectl, self.space(of).namespace, own, name)

    def create(self, name: str, of: str, **spec: Any) -> DevServer:
        """Create a server as a member does."""
        made = server(
            name, **{"owner": self.username(of), "image": "any:1", "stopped": False} | spec
        )
        self.space(of).create(self.username(of), made, keep=True)
        return self.server(name, of)

    def queue(self, flavor: str) -> Thing | None:
        """The team's ClusterQueue of a flavor."""
        return self.kubectl.api.get("clusterqueue", cluster_queue(self.name, flavor))

    def local(self, of: str) -> dict[str, str]:
        """The LocalQueues of a member, and their ClusterQueues."""
        found = self.kubectl.api.list("localqueue", self.space(of).namespace)
        return {queue["metadata"]["name"]: queue["spec"]["clusterQueue"] for queue in found}

    @property
    def shared(self) -> str:
        """The claim that members mount."""
        return claim_name(self.name)

    def claim(self, of: str) -> Thing | None:
        """A member's claim of the shared volume."""
        return self.kubectl.api.get("pvc", self.shared, self.space(of).namespace)

    def volume(self, of: str) -> Thing | None:
        """The volume of a member's claim."""
        return self.kubectl.api.get("pv", volume_name(self.name, self.space(of).namespace))

    def files(self) -> Thing:
        """The volume with the files."""
        claim = self.kubectl.api.get("pvc", self.shared, SPACE)
        assert claim
        found = self.kubectl.api.get("pv", claim["spec"]["volumeName"])
        assert found
        return found

    def sharing(self) -> list[str]:
        """The members who can mount the shared volume, as status says."""
        found = (self.team.read() or {}).get("status", {}).get("sharedStorage", {})
        spaces = {self.space(name).namespace: name for name in ("ann", "bob")}
        return [spaces[space] for space in found.get("namespaces", [])]

    def remove(self) -> None:
        """Delete all of it."""
        api = self.kubectl.api
        for name in ("ann", "bob"):
            for lab in api.list("devserver", self.space(name).namespace):
                api.delete("devserver", lab["metadata"]["name"], self.space(name).namespace)
            api.delete(f"{USER.plural}.{USER.group}", self.user(name).name)
            api.delete("namespace", self.space(name).namespace)
        api.delete(f"{TEAM.plural}.{TEAM.group}", self.name)
        for flavor in self.flavors:
            api.delete("devserverflavor", flavor)
        api.delete("pvc", self.shared, SPACE)


@pytest.fixture(scope="module")
def kueue(kubectl: Kubectl) -> Iterator[None]:
    with kueue_kinds(kubectl):
        yield


@pytest.fixture
def vision(kubectl: Kubectl) -> Iterator[Members]:
    found = Members(kubectl, f"team-{uuid4().hex[:6]}")
    for flavor in found.flavors:
        apply_flavor(kubectl, flavor, resources=SMALL)
    yield found
    found.remove()


def change(lab: DevServer, **spec: Any) -> None:
    """Change some fields of a server."""
    lab.kubectl.api.patch("devserver", lab.name, {"spec": spec}, lab.namespace)


def await_right(space: Tenants, user: str, verb: str, resource: str) -> None:
    """Wait until the API server has seen what gives a user a right."""
    may = space.api(user).may
    wait_until(lambda: may(verb, resource, space.namespace), f"{user} may {verb} {resource}")


def amounts(queue: Thing | None) -> dict[str, str]:
    """The quota of a ClusterQueue."""
    assert queue
    ((flavor,),) = ([*group["flavors"]] for group in queue["spec"]["resourceGroups"])
    return {each["name"]: each["nominalQuota"] for each in flavor["resources"]}


def test_without_kueue_all_works_but_queues(vision: Members) -> None:
    vision.quota(2)
    vision.join("ann")
    vision.team.wait("Ready")
    vision.user("ann").wait("Ready")
    lab = vision.create("lab", of="ann")
    lab.wait("Ready")
    found = lab.get("devserver", "lab")[0]["spec"]
    assert (found["team"], found["priority"]) == (vision.name, "normal")


@pytest.mark.usefixtures("kueue")
def test_queues_follow_team_flavors_and_members(vision: Members) -> None:
    one, two = vision.flavors
    vision.quota(3)
    vision.join("ann")
    vision.team.wait("Ready")
    vision.user("ann").wait("Ready")
    assert amounts(vision.queue(one)) == {"cpu": "60m", "memory": "96Mi"}
    # By the role of flavors, whenever it runs.
    wait_until(lambda: bool(vision.kubectl.api.get("resourceflavor", one)), "the flavor is there")
    assert vision.kubectl.api.get("workloadpriorityclass", "devctl-high")
    expected = {local_queue(one): cluster_queue(vision.name, one)}
    wait_until(lambda: vision.local("ann") == expected, "the member has a queue")
    # What each pod requests changes, then what the team may use.
    apply_flavor(vision.kubectl, one, resources={"requests": {"cpu": "30m"}}, preemptible=True)
    wait_until(lambda: amounts(vision.queue(one)) == {"cpu": "90m"}, "the quota follows")
    vision.quota(1, 1)
    expected |= {local_queue(two): cluster_queue(vision.name, two)}
    wait_until(lambda: vision.local("ann") == expected, "the member has both queues")
    vision.kubectl.api.delete("clusterqueue", cluster_queue(vision.name, two))
    wait_until(lambda: bool(vision.queue(two)), "the lost queue is there again")
    vision.quota(1)
    del expected[local_queue(two)]
    wait_until(
        lambda: vision.local("ann") == expected and not vision.queue(two),
        lambda: f"one goes: {vision.local('ann')}, {vision.queue(two)}",
    )
    # A LocalQueue cannot be moved to another team.
    other = One(vision.kubectl.api, TEAM, f"{vision.name}-other")
    other.apply(flavors=[{"name": one, "pods": 1}])
    vision.join("ann", other.name)
    moved = {local_queue(one): cluster_queue(other.name, one)}
    wait_until(lambda: vision.local("ann") == moved, "the queue is the other team's")
    vision.join("ann", "")
    wait_until(lambda: vision.local("ann") == {}, "who is in no team has no queue")
    other.delete()
    wait_until(
        lambda: not vision.kubectl.api.get("clusterqueue", cluster_queue(other.name, one)),
        "the queues go with the team",
    )


@pytest.mark.usefixtures("kueue")
def test_a_team_without_a_flavor_says_which(vision: Members) -> None:
    vision.team.apply(flavors=[{"name": "nowhere", "pods": 1}])
    assert "nowhere" in vision.team.wait("Ready", "False", "FlavorNotFound")["message"]


@pytest.mark.usefixtures("kueue")
def test_each_start_of_a_queued_server_is_a_new_statefulset(vision: Members) -> None:
    one, two = vision.flavors
    vision.quota(1, 2)
    vision.join("ann", priority="low")
    vision.user("ann").wait("Ready")
    lab = vision.create("lab", of="ann")
    lab.wait("Ready")
    (before,) = lab.get("statefulset", "lab")
    labels = before["metadata"]["labels"]
    assert (labels[QUEUE_NAME], labels[PRIORITY_CLASS]) == (local_queue(one), "devctl-low")
    homes = {claim["metadata"]["uid"] for claim in lab.get("pvc")}
    change(lab, stopped=True, flavor=two, **TWO_RANKS)
    lab.follow(lambda found: found["status"]["phase"] == "Stopped", "it is stopped")
    (stopped,) = lab.get("statefulset", "lab")
    assert stopped["spec"]["template"] == before["spec"]["template"]
    change(lab, stopped=False)
    lab.wait("Ready")
    (after,) = lab.get("statefulset", "lab")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["metadata"]["labels"][QUEUE_NAME] == local_queue(two)
    assert after["spec"]["replicas"] == 2
    assert homes < {claim["metadata"]["uid"] for claim in lab.get("pvc")}


@pytest.mark.usefixtures("kueue")
def test_what_the_team_could_never_start_does_not_wait(vision: Members) -> None:
    vision.quota(1)
    vision.join("ann")
    vision.user("ann").wait("Ready")
    for name, spec, why in (
        ("large", TWO_RANKS, "can have 1 at most"),
        ("other", {"flavor": vision.flavors[1]}, f"set spec.flavor to one of: {vision.flavors[0]}"),
    ):
        lab = vision.create(name, of="ann", **spec)
        assert why in lab.wait("Applied", "False")["message"]


@pytest.mark.usefixtures("kueue")
def test_users_choose_neither_team_nor_a_higher_priority(vision: Members) -> None:
    vision.quota(1)
    vision.join("ann")
    vision.join("bob", "")
    for name in ("ann", "bob"):
        vision.user(name).wait("Ready")
    ann, bob = vision.username("ann"), vision.username("bob")
    space = vision.space("ann")
    for spec, why in (
        ({"team": "other"}, f"must be `{vision.name}`"),
        ({"priority": "high"}, "`normal` is the highest"),
    ):
        wanted = server("lab", owner=ann, **spec)
        assert why in space.refused(ann, wanted)
        space.create(ADMINISTRATOR, wanted)
    space.create(ann, server("lab", owner=ann, priority="low"))
    theirs = server("lab", owner=bob, team=vision.name)
    assert "you are in no team" in vision.space("bob").refused(bob, theirs)
    vision.create("lab", of="ann", stopped=True)
    for change in ({"team": None}, {"priority": None}):
        space.send(ann, patch("devserver/lab", {"spec": change}))
    found = space.read("devserver/lab")["spec"]
    assert (found["team"], found["priority"]) == (vision.name, "normal")
    higher = patch("devserver/lab", {"spec": {"priority": "high"}})
    assert "is the highest" in space.denied(ann, higher)
    # Kueue would take it from a label: of a pod, or of what an administrator lets users create.
    labels = {QUEUE_NAME: "any", PRIORITY_CLASS: "devctl-high"}
    queued = pod("mine", space.namespace, "default")
    queued["metadata"]["labels"] = labels | {PRIORITY_CLASS: "devctl-low"}
    assert "a user chooses the queue only" in space.refused(ann, queued)
    space.create(ADMINISTRATOR, role("jobs", "create", {"batch": "jobs"}), keep=True)
    space.bind(ann, to="jobs", awaits=("create", "jobs.batch"))
    template = {"spec": queued["spec"] | {"restartPolicy": "Never"}}
    batch = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    batch["metadata"] = {"name": "mine", "labels": labels}
    assert "is not yours to use" in space.refused(ann, batch)
    space.create(ADMINISTRATOR, queued)


@pytest.mark.usefixtures("kueue")
def test_members_stop_each_others_servers_if_the_team_says_so(vision: Members) -> None:
    vision.quota(2)
    for name in ("ann", "bob"):
        vision.join(name)
        vision.user(name).wait("Ready")
    lab = vision.create("lab", of="ann")
    lab.wait("Ready")
    bob, space = vision.username("bob"), vision.space("ann")
    assert "forbidden" in space.denied(bob, get("devservers"))

    def bound() -> str:
        found = vision.kubectl.api.get("rolebinding", MEMBERS, space.namespace)
        return found["roleRef"]["name"] if found else ""

    vision.quota(2, members="view")
    wait_until(lambda: bound() == "devctl-team-view", "members see each other's servers")
    await_right(space, bob, "list", "devservers")
    assert "lab" in space.run(bob, "get", "devservers")
    assert "forbidden" in space.refusal(bob, "logs", "lab-0")
    stop, start = (patch("devserver/lab", {"spec": {"stopped": to}}) for to in (True, False))
    assert "forbidden" in space.denied(bob, stop)
    vision.quota(2, members="none")
    wait_until(lambda: not bound(), "members see nothing")
    vision.quota(2, members="stop")
    wait_until(lambda: bound() == "devctl-team-stop", "members stop each other's servers")
    await_right(space, bob, "patch", "devservers")
    for change in (
        {"spec": {"image": "evil:1", "stopped": True}},
        {"metadata": {"labels": {"a": "b"}}},
    ):
        assert "can only stop it" in space.denied(bob, patch("devserver/lab", change))
    space.send(bob, stop)
    lab.follow(lambda found: found["status"]["phase"] == "Stopped", "it is stopped")
    assert "can only stop it" in space.denied(bob, start)
    vision.join("bob", "")
    wait_until(lambda: not bound(), "who has left sees nothing")


def test_members_share_files_that_outlive_membership_and_team(vision: Members) -> None:
    vision.quota(1, sharedStorage={"size": "1Mi"})
    for name in ("ann", "bob"):
        vision.join(name)
    wait_until(lambda: vision.sharing() == ["ann", "bob"], "both can mount it")
    assert vision.team.wait("Ready")["reason"] == "Ready"
    path = vision.files()["spec"]["hostPath"]["path"]
    for name in ("ann", "bob"):
        volume = vision.volume(name)
        assert volume
        assert volume["spec"]["hostPath"]["path"] == path
        assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    lab = vision.create("lab", of="ann", sharedVolumeClaimName=vision.shared)
    lab.wait("Ready")

    vision.join("bob", "")
    wait_until(lambda: not vision.claim("bob") and not vision.volume("bob"), "who leaves has none")
    wait_until(lambda: vision.sharing() == ["ann"], "only the other one can mount it")

    # What a running server mounts stays until it stops.
    vision.team.delete()

    def is_going() -> bool:
        found = vision.claim("ann")
        assert found, "a running server mounts it"
        return "deletionTimestamp" in found["metadata"]

    wait_until(is_going, "the claim is deleted once nothing uses it")
    assert lab.condition("Ready")["status"] == "True"
    # A team that comes back waits for that, and for nothing else.
    vision.quota(1, sharedStorage={"size": "1Mi"})
    vision.join("bob")
    wait_until(lambda: vision.sharing() == ["bob"], "the other one has it at once")
    change(lab, stopped=True)
    wait_until(lambda: vision.sharing() == ["ann", "bob"], "both have it again")
    assert vision.files()["spec"]["hostPath"]["path"] == path
    change(lab, stopped=False)
    lab.wait("Ready")


def test_a_lost_claim_of_a_member_comes_back(vision: Members) -> None:
    vision.quota(1, sharedStorage={"size": "1Mi"})
    vision.join("ann")
    wait_until(lambda: vision.sharing() == ["ann"], "it can be mounted")
    before, space = vision.claim("ann"), vision.space("ann").namespace
    assert before
    # A user cannot delete it.
    theirs = delete(f"pvc/{vision.shared}")
    refusal = vision.space("ann").denied(vision.username("ann"), theirs)
    assert f"claim `{vision.shared}` is for the files of a team" in refusal
    vision.kubectl.api.delete("pvc", vision.shared, space)

    def is_new() -> bool:
        now = vision.claim("ann")
        # While it is away, the status may still be that of before.
        is_another = now is not None and now["metadata"]["uid"] != before["metadata"]["uid"]
        return is_another and vision.sharing() == ["ann"]

    wait_until(is_new, lambda: f"it is recreated: {vision.claim('ann')}")


def test_a_volume_that_is_not_provisioned_says_why(vision: Members) -> None:
    vision.quota(1, sharedStorage={"size": "1Mi", "storageClassName": "nowhere"})
    vision.join("ann")
    # Until the observer has seen the claim, it says that there will be one.
    said = f"claim `{SPACE}/{vision.shared}` has no volume yet: storage class `nowhere`"
    wait_until(
        lambda: said in vision.team.wait("Ready", "False", "VolumePending")["message"],
        "the claim has no volume",
    )
    wait_until(
        lambda: '"nowhere" not found' in vision.team.wait("Ready", "False")["message"],
        "Kubernetes says why",
    )
    assert not vision.claim("ann")


def test_the_trouble_of_one_member_is_not_that_of_others(vision: Members) -> None:
    vision.quota(1)
    for name in ("ann", "bob"):
        vision.join(name)
        vision.user(name).wait("Ready")
    space = vision.space("ann").namespace
    theirs = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": vision.shared, "namespace": space},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
    vision.kubectl.api.create(theirs)
    vision.quota(1, sharedStorage={"size": "1Mi"})
    vision.team.wait("Ready", "False", "Conflict")
    wait_until(lambda: vision.sharing() == ["bob"], "the other one has it")
    # What was there first is not given the files.
    found = vision.claim("ann")
    assert found
    assert found["status"]["phase"] == "Pending"
    assert not vision.volume("ann")
    vision.kubectl.api.delete("pvc", vision.shared, space)
    wait_until(lambda: vision.sharing() == ["ann", "bob"], "now both have it", 90)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"flavors": [{"name": "a", "pods": -1}]}, "pods"),
        ({"flavors": [{"name": "a", "pods": 1}, {"name": "a", "pods": 2}]}, "duplicate"),
        ({"members": "own"}, "members"),
        ({"cohort": "A"}, "cohort"),
        ({"sharedStorage": {"size": "1e9999"}}, "size"),
        ({"sharedStorage": {}}, "size"),
    ],
)
def test_bad_input_is_refused(vision: Members, spec: Thing, why: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=why):
        vision.team.apply(**spec)
