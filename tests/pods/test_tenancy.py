"""What users cannot reach from within their pods, where the network plugin enforces policies.

What the API server decides, tests/plane/test_tenancy.py tries.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import yaml
from support.attempts import Attempt, Sender, attempt
from support.command_line import CommandLine
from support.commands import Kubectl
from support.escapes.network import UNREACHED
from support.servers import wait_until
from support.user_attempts import HARDENED, OTHER, OWN, SYSTEM

from devctl.local.namespaces import enter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

METADATA = "169.254.170.23"
"""Where EKS answers with a pod's credentials; that of 169.254.169.254 is another module's."""
PORT, METADATA_PORT, KUBELET_PORT, API_PORT = 8080, 8081, 10250, 443
SERVE = (
    "use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => {port}, Listen => 5,"
    " ReuseAddr => 1) or die; while (my $c = $s->accept) {{ close $c }}"
)


@dataclass(frozen=True)
class Somebody:
    """A kubectl and the namespace where it works."""

    kubectl: Kubectl
    namespace: str

    def __call__(self, *args: str, **options: Any) -> str:
        return self.kubectl("-n", self.namespace, *args, **options)

    def create(self, manifest: dict[str, Any]) -> None:
        self("create", "-f", "-", input=json.dumps(manifest))

    def reaches(self, pod: str, where: tuple[str, int]) -> bool:
        """Whether a pod of theirs gets a connection."""
        host, port = where
        ask = (
            f"timeout 3 bash -c 'exec 3<>/dev/tcp/{host}/{port}' 2>/dev/null && echo yes || echo no"
        )
        said = self("exec", pod, "--", "bash", "-c", ask).strip()
        assert said in {"yes", "no"}
        return said == "yes"


@dataclass(frozen=True)
class Place:
    """Two users with pods, and an administrator with one that no policy holds.

    Attributes:
        where: A host and a port, by the words of UNREACHED.
    """

    alice: Somebody
    bob: Somebody
    outside: Somebody
    where: dict[str, tuple[str, int]]


def pod(name: str, image: str, node: str, *command: str, **spec: Any) -> dict[str, Any]:
    """A pod that Pod Security's `restricted` level takes."""
    own = {"image": image, "command": list(command) or ["sleep", "3600"]}
    given = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 0,
        "containers": [HARDENED["containers"][0] | own],
    }
    metadata = {"name": name, "labels": {"app": name}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": HARDENED | given | spec,
    }


def serving(name: str, image: str, node: str, port: int = PORT, **spec: Any) -> dict[str, Any]:
    return pod(name, image, node, "perl", "-e", SERVE.format(port=port), **spec)


def onboarded(admin: CommandLine, kubectl: Kubectl, name: str, home: Path) -> Somebody:
    """A user with credentials as administrators issue them."""
    admin.must("admin", "user", "create", f"{name}@company.com", "--name", name, "--wait")
    file = home / f"{name}.yaml"
    admin.must("admin", "user", "kubeconfig", name, "--file", str(file))
    found = Somebody(Kubectl(kubectl.program, file), f"dev-{name}")
    account = ("serviceaccount", "default", found.namespace)
    wait_until(lambda: kubectl.api.get(*account) is not None, "pods have an account")
    return found


@pytest.fixture(scope="module")
def users(
    deployed: None,  # noqa: ARG001 - it comes first
    kubectl: Kubectl,
    kubeconfig: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Somebody, Somebody]]:
    """Alice and Bob."""
    home, number = tmp_path_factory.mktemp("users"), uuid4().hex[:6]
    admin, names = CommandLine(kubeconfig, "default", home), (f"alice-{number}x", f"bob-{number}x")
    alice, bob = (onboarded(admin, kubectl, name, home) for name in names)
    yield alice, bob
    for name, who in zip(names, (alice, bob), strict=True):
        kubectl("delete", "devserveruser", name, "--ignore-not-found")
        kubectl("delete", "namespace", who.namespace, "--wait=false")


@pytest.fixture(scope="module")
def outside(kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths) -> Iterator[Somebody]:
    """The administrator, in a namespace without policies; a node has the address of metadata."""
    assert "network-policy" in cluster.parts
    found = Somebody(kubectl, f"outside-{uuid4().hex[:6]}")
    kubectl("create", "namespace", found.namespace)
    account = ("serviceaccount", "default", found.namespace)
    wait_until(lambda: kubectl.api.get(*account) is not None, "pods have an account")
    node = enter(paths.node(cluster.nodes[-1].name))
    address = (f"{METADATA}/32", "dev", "lo")
    subprocess.run([*node, "ip", "address", "replace", *address], check=True)
    yield found
    kubectl("delete", "namespace", found.namespace, "--wait=false")
    subprocess.run([*node, "ip", "address", "delete", *address], check=True)


@pytest.fixture(scope="module")
def place(
    kubectl: Kubectl,
    cluster: ClusterSettings,
    images: dict[str, Image],
    users: tuple[Somebody, Somebody],
    outside: Somebody,
) -> Place:
    """Alice with two pods on one node, and Bob with a service, whose pod is on the other."""
    (alice, bob), image = users, images["base"].reference
    first, last = cluster.nodes[0], cluster.nodes[-1]
    token = {"serviceAccountName": "devctl-automation", "automountServiceAccountToken": True}
    made = (
        (alice, pod("client", image, last.name, **token)),
        (alice, serving("peer", image, last.name)),
        (bob, serving("server", image, first.name)),
        (bob, pod("friend", image, last.name)),
        (outside, pod("client", image, last.name)),
        (outside, serving("metadata", image, last.name, METADATA_PORT, hostNetwork=True)),
    )
    for who, manifest in made:
        who.create(manifest)
    service = {"selector": {"app": "server"}, "ports": [{"port": PORT}]}
    named = {"metadata": {"name": "shop", "namespace": bob.namespace}, "spec": service}
    kubectl.api.create({"apiVersion": "v1", "kind": "Service"} | named)
    for who in (alice, bob, outside):
        who("wait", "pod", "--all", "--for=condition=Ready", "--timeout=90s")

    def address_of(who: Somebody, name: str) -> str:
        found = kubectl.api.get("pod", name, who.namespace)
        assert found
        return str(found["status"]["podIP"])

    where = {
        "pod": (address_of(bob, "server"), PORT),
        "service": (f"shop.{bob.namespace}.svc", PORT),
        "node": (str(first.address), KUBELET_PORT),
        "metadata": (METADATA, METADATA_PORT),
        "api": ("kubernetes.default.svc", API_PORT),
    }
    peer = (address_of(alice, "peer"), PORT)
    # The plugin knows Alice's client, and lets it do what it may.
    wait_until(lambda: alice.reaches("client", peer), "Alice's pods reach each other")
    return Place(alice, bob, outside, where)


@pytest.mark.parametrize("name", UNREACHED)
def test_no_pod_of_a_user_reaches(place: Place, name: str) -> None:
    word = UNREACHED[name]
    who, client = (place.bob, "friend") if word in {"pod", "service"} else (place.outside, "client")
    wait_until(lambda: who.reaches(client, place.where[word]), f"{word}: others reach it")
    assert not place.alice.reaches("client", place.where[word])


def test_names_of_others_resolve_to_what_is_not_reached(place: Place) -> None:
    """So a refusal of the service is one of its address, and not for want of its name."""
    host, _ = place.where["service"]
    assert place.alice("exec", "client", "--", "getent", "hosts", host).split()


TRIED: dict[str, tuple[Attempt, str]] = {
    "open a shell in a system pod": (
        attempt(f"POST {SYSTEM}/pods/{{system}}/exec?command=id&stdout=true"),
        'cannot create resource "pods/exec"',
    ),
    "open a shell in another user's pod": (
        attempt(f"POST {OTHER}/pods/server/exec?command=id&stdout=true"),
        'cannot create resource "pods/exec"',
    ),
    "reach every pod through a node": (
        attempt("GET /api/v1/nodes/{node}/proxy/pods"),
        'cannot get resource "nodes/proxy"',
    ),
    "add a container to a pod": (
        attempt(
            f"PATCH {OWN}/pods/client/ephemeralcontainers",
            {"spec": {"ephemeralContainers": [{**HARDENED["containers"][0], "name": "spy"}]}},
        ),
        'cannot patch resource "pods/ephemeralcontainers"',
    ),
}


def test_a_pods_token_is_no_more_than_its_user(
    place: Place, kubectl: Kubectl, kubeconfig: Path, cluster: ClusterSettings, tmp_path: Path
) -> None:
    """A process reads its pod's token, and takes it out of the cluster."""
    secret = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
    token = place.alice("exec", "client", "--", "cat", secret).strip()
    config = yaml.safe_load(place.alice.kubectl.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    words = {
        "own": place.alice.namespace,
        "other": place.bob.namespace,
        "node": cluster.nodes[0].name,
        "system": kubectl.api.list("pod", "devctl-system")[0]["metadata"]["name"],
    }
    # The token is good for what its user may.
    own = attempt(f"GET {OWN}/pods")
    assert Sender(file, words).objection(own) == ""
    for name, (tried, said) in TRIED.items():
        assert Sender(kubeconfig, words).objection(tried) == "", name
        assert said in Sender(file, words).objection(tried).replace("\\", ""), name
