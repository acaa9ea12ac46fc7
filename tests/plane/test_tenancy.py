"""What users cannot do to others, or beyond what they were given, as real users try it.

Two users are onboarded as an administrator does it, and have the credentials that an administrator
issues: certificates, and a token for automation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from apply.manifests import ALIAS
from support.api import Api
from support.attempts import Attempt, Sender, attempt
from support.escapes import ESCAPES
from support.escapes.escape import ALICE, AUTOMATION, CAPITALS, CLASS, CYRILLIC, Escape
from support.jobs import Job
from support.one import One
from support.servers import SMALL, DevServer, apply_flavor, wait_until
from support.user_attempts import HARDENED, OWN, OWN_JOBS, OWN_SERVERS, named, server, small_job

from devctl import Client, User
from devctl.api.devserver_user import QUOTA, namespace_of
from devctl.api.kinds import TEAM, USER
from devctl.api.teams import SPACE, claim_name, volume_name
from devctl.client.user_access import kubeconfig as issue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.client.users import Method

pytestmark = pytest.mark.usefixtures("deployed", "enforced")

BOB, CAROL = "bob", "carol"
CPUS = 4
"""How many each of them may request."""


@dataclass(frozen=True)
class Cluster:
    """Users and their administrator.

    Attributes:
        kubectl: The administrator's.
        number: Ends all names of this module.
        issue: A file with a user's credentials.
    """

    kubectl: Kubectl
    number: str
    issue: Callable[[User, Method], Path]

    def name(self, user: str) -> str:
        return f"{user}-{self.number}"

    def space(self, user: str) -> str:
        return namespace_of(self.name(user))

    def one(self, user: str) -> One:
        return One(self.kubectl.api, USER, self.name(user))

    def apply(self, user: str, **changes: Any) -> None:
        """Onboard a user, or change what is decided for them."""
        spec = {"username": f"{user}@company.com", "defaultFlavor": self.number}
        self.one(user).apply(**spec, quota={"cpu": str(CPUS)}, **changes)

    def words(self, user: str, other: str) -> dict[str, str]:
        csrs = self.kubectl.api.list("certificatesigningrequests")
        csr = next(c for c in csrs if c["metadata"]["name"].startswith(f"devctl-{user}"))
        return {
            "own": self.space(user),
            "other": self.space(other),
            "name": self.name(user),
            "me": f"{user}@company.com",
            "ME": f"{user}@company.com".upper(),
            "csr": csr["spec"]["request"],
            "csr_name": csr["metadata"]["name"],
        }

    def credentials(self, user: str, method: Method = "certificate") -> Path:
        """What `devctl admin user kubeconfig` writes."""
        return self.issue(User(self.one(user).read() or {}), method)

    def start(self, user: str, **spec: Any) -> None:
        """Have them own a server and a job."""
        self.one(user).wait("Ready")
        self.server(user).apply(**spec)
        self.job(user).apply(owner=f"{user}@company.com", suspend=True)

    def share(self, user: str) -> None:
        """Give them the claim of a team that is named after them.

        They are not a member: Kueue's policies would also judge what members try.
        """
        team, space = self.name(user), self.space(user)
        one = One(self.kubectl.api, TEAM, team)
        one.apply(sharedStorage={"size": "1Mi"})
        one.wait("Ready")
        called, mark = volume_name(team, space), {ALIAS: "true"}
        common = {"accessModes": ["ReadWriteMany"]}
        reference = {"namespace": space, "name": claim_name(team)}
        size = {"storage": "1Mi"}
        for kind, metadata, spec in (
            (
                "PersistentVolume",
                {"name": called},
                {"capacity": size, "hostPath": {"path": "/srv/x"}, "claimRef": reference},
            ),
            (
                "PersistentVolumeClaim",
                reference,
                {"storageClassName": "", "volumeName": called, "resources": {"requests": size}},
            ),
        ):
            made = {"apiVersion": "v1", "kind": kind, "metadata": metadata | {"annotations": mark}}
            self.kubectl.api.create(made | {"spec": common | spec})

    def server(self, user: str) -> DevServer:
        spec = {"owner": f"{user}@company.com", "image": "any:1", "persistentHomeSize": "1Mi"}
        return DevServer(self.kubectl, self.space(user), spec)

    def job(self, user: str) -> Job:
        return Job(self.kubectl, self.space(user), "none:1", "box")


@pytest.fixture(scope="module")
def users(
    kubectl: Kubectl, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Alice and Bob, each with a server, a job and a secret."""
    client = Client(kubeconfig=str(kubeconfig))

    def issued(user: User, method: Method) -> Path:
        file = tmp_path_factory.mktemp("user") / "kubeconfig"
        file.write_text(issue(client.cluster, user, method, 3600, str(kubeconfig)))
        return file

    made = Cluster(kubectl, uuid4().hex[:6], issued)
    apply_flavor(kubectl, made.number, resources=SMALL)
    apply_flavor(kubectl, made.space(ALICE), resources=SMALL)
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    kubectl.api.apply(priority | {"metadata": {"name": CLASS}})
    for user in (ALICE, BOB):
        made.apply(user)
    for user in (ALICE, BOB):
        made.start(user)
        secret = {"metadata": {"name": "token", "namespace": made.space(user)}}
        kubectl.api.create({"apiVersion": "v1", "kind": "Secret"} | secret)
    for user in (ALICE, BOB):
        made.server(user).wait("Ready")
    made.share(ALICE)
    yield made
    for user in (ALICE, BOB, CAROL):
        kubectl.api.delete(f"{USER.plural}.{USER.group}", made.name(user))
        kubectl.api.delete("namespace", made.space(user))
    for flavor in (made.number, made.space(ALICE)):
        kubectl.api.delete("devserverflavor", flavor)
    kubectl.api.delete("priorityclass", CLASS)
    kubectl.api.delete(f"{TEAM.plural}.{TEAM.group}", made.name(ALICE))
    kubectl.api.delete("pvc", claim_name(made.name(ALICE)), SPACE)
    kubectl.api.delete("pv", volume_name(made.name(ALICE), made.space(ALICE)))


@pytest.fixture(scope="module")
def senders(users: Cluster, kubeconfig: Path) -> dict[str, Sender]:
    """Those who try, and an administrator."""
    files = {ALICE: users.credentials(ALICE), AUTOMATION: users.credentials(ALICE, "token")}
    for name, who in (("capitals", CAPITALS), ("cyrillic", CYRILLIC)):
        raw = {"metadata": {"name": name}, "spec": {"username": f"{who}@company.com"}}
        files[who] = users.issue(User(raw), "certificate")
    words = users.words(ALICE, BOB)
    return {who: Sender(file, words) for who, file in (files | {"": kubeconfig}).items()}


@pytest.mark.parametrize("escape", ESCAPES, ids=str)
def test_no_user_escapes(senders: dict[str, Sender], escape: Escape) -> None:
    said = senders[escape.who].objection(escape.tried)
    if escape.allowed:
        assert senders[escape.who].objection(escape.allowed) == ""
    else:
        assert senders[""].objection(escape.tried) == ""
    assert said.startswith("4")
    assert escape.said in said.replace("\\", "")


def test_requests_at_once_do_not_exceed_a_quota(users: Cluster) -> None:
    bob = Api(users.credentials(BOB))

    def create(number: int) -> str:
        whole = {"resources": {"requests": {"cpu": "1"}}}
        spec = HARDENED | {"containers": [HARDENED["containers"][0] | whole]}
        metadata = {"name": f"many-{number}", "namespace": users.space(BOB)}
        try:
            bob.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        except pytest.fail.Exception as refusal:
            return str(refusal)
        return ""

    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(create, range(24)))
    # The server has a part of one.
    assert said.count("") == CPUS - 1
    assert all(f"exceeded quota: {QUOTA}" in refusal for refusal in said if refusal), said


SUSPENDED: dict[str, Attempt] = {
    "start a server": attempt(f"PATCH {OWN_SERVERS}/lab", {"spec": {"stopped": False}}),
    "start a job": attempt(f"PATCH {OWN_JOBS}/box", {"spec": {"suspend": False}}),
    "create a server": attempt(f"POST {OWN_SERVERS}", server()),
    "create a job": attempt(f"POST {OWN_JOBS}", small_job()),
    "create a pod": attempt(f"POST {OWN}/pods", named(spec=HARDENED)),
}


def test_a_suspended_user_starts_nothing(users: Cluster) -> None:
    users.apply(CAROL)
    users.start(CAROL, stopped=True)
    file = users.credentials(CAROL)
    carol = Sender(file, users.words(CAROL, BOB) | {"own": users.space(CAROL)})
    # Pods are taken once their quota counts, and they have a service account.
    wait_until(
        lambda: not any(map(carol.objection, SUSPENDED.values())),
        lambda: str([carol.objection(tried) for tried in SUSPENDED.values()]),
    )
    users.apply(CAROL, suspended=True)
    users.one(CAROL).wait("Ready", "False", "Suspended")
    for name, tried in SUSPENDED.items():
        assert "is suspended: nothing starts" in carol.objection(tried), name
