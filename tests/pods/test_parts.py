"""The optional parts of the cluster: enforced network policies, and queues."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.command_line import CommandLine
from support.commands import devctl, must
from support.forwarding import forwarded
from support.servers import SMALL, DevServer, apply_flavor, succeeds, wait_until
from support.tiers.prepare import PARTS

from devctl.api.conditions import find
from devctl.local.namespaces import enter
from devctl.local.parts import load_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

METADATA = "169.254.169.254"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
QUEUE = "kueue.x-k8s.io/queue-name"
QUEUES = "devops.yourcompany.com/queues"
SERVE = (
    "use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => 8080, Listen => 5,"
    " ReuseAddr => 1) or die; while (my $c = $s->accept) { print $c qq(served\\n); close $c }"
)


def container(image: str, command: list[str], cpu: str = "10m") -> dict[str, Any]:
    return {
        "name": "main",
        "image": image,
        "command": command,
        "resources": {"requests": {"cpu": cpu}},
    }


def pod(name: str, node: str, image: str, *command: str, **spec: Any) -> dict[str, Any]:
    """A pod on one node, which sleeps unless told otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name.partition("-")[0]}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "terminationGracePeriodSeconds": 0,
            "containers": [container(image, list(command) or ["sleep", "3600"])],
            **spec,
        },
    }


def policy(name: str, app: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": {"podSelector": {"matchLabels": {"app": app}}, **spec},
    }


POLICIES = (
    policy(
        "only-friends",
        "server",
        policyTypes=["Ingress"],
        ingress=[{"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}]}],
    ),
    policy(
        "no-metadata",
        "friend",
        policyTypes=["Egress"],
        egress=[{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}]}],
    ),
)


@pytest.fixture(scope="module", autouse=True)
def has_parts(cluster: ClusterSettings) -> None:
    assert set(PARTS) <= set(cluster.parts)


@pytest.fixture(scope="module")
def guarded(
    kubectl: Kubectl, cluster: ClusterSettings, paths: ClusterPaths, images: dict[str, Image]
) -> Iterator[str]:
    """A namespace with a server, clients on both nodes, and a stand-in for node metadata."""
    image, namespace = images["base"].reference, f"parts-{uuid4().hex[:6]}"
    first, last = cluster.nodes[0].name, cluster.nodes[-1].name
    serve = ("perl", "-e", SERVE)
    made = [
        pod("server", first, image, *serve),
        pod("metadata", last, image, *serve, hostNetwork=True),
        *(pod(f"friend-{node}", node, image) for node in (first, last)),
        *(pod(f"stranger-{node}", node, image) for node in (first, last)),
    ]
    kubectl("create", "namespace", namespace)
    address = ["ip", "address", "replace", f"{METADATA}/32", "dev", "lo"]
    subprocess.run([*enter(paths.node(last)), *address], check=True)
    for manifest in made:
        kubectl.api.create(manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}})
    pods = [f"pod/{manifest['metadata']['name']}" for manifest in made]
    kubectl("-n", namespace, "wait", *pods, "--for=condition=Ready", "--timeout=90s")
    yield namespace
    kubectl("delete", "namespace", namespace, "--wait=false")
    address[2] = "delete"
    subprocess.run([*enter(paths.node(last)), *address], check=True)


@pytest.fixture(scope="module")
def enforced_policies(kubectl: Kubectl, guarded: str) -> None:
    """Both policies, in force. Before, everyone reaches everything."""
    server = address_of(kubectl, guarded, "server")
    clients = [p["metadata"]["name"] for p in kubectl.api.list("pod", guarded)]
    clients = [name for name in clients if name.startswith(("friend", "stranger"))]
    strangers = [name for name in clients if name.startswith("stranger")]

    def all_reach(names: list[str]) -> bool:
        return all(reaches(kubectl, guarded, name, server) for name in names)

    def none_reaches(names: list[str]) -> bool:
        return not any(reaches(kubectl, guarded, name, server) for name in names)

    wait_until(lambda: all_reach(clients), "all reach it")
    for manifest in POLICIES:
        kubectl.api.create(manifest | {"metadata": manifest["metadata"] | {"namespace": guarded}})
    wait_until(lambda: none_reaches(strangers), "no stranger reaches it")
    # The other one was created a moment later.
    friends = [name for name in clients if name not in strangers]
    wait_until(
        lambda: not any(reaches(kubectl, guarded, name, METADATA) for name in friends),
        "no friend reaches the metadata",
    )


def address_of(kubectl: Kubectl, namespace: str, name: str) -> str:
    found = kubectl.api.get("pod", name, namespace)
    assert found
    return str(found["status"]["podIP"])


def reaches(kubectl: Kubectl, namespace: str, client: str, host: str) -> bool:
    """Whether a client gets an answer from port 8080 of a host."""
    ask = (
        f"timeout 10 bash -c 'exec 3<>/dev/tcp/{host}/8080 && cat <&3' 2>/dev/null || echo refused"
    )
    said = kubectl("-n", namespace, "exec", client, "--", "bash", "-c", ask)
    assert said.strip() in {"served", "refused"}
    return said.strip() == "served"


@pytest.mark.usefixtures("enforced_policies")
def test_a_policy_goes_by_labels_within_a_node_and_across_nodes(
    kubectl: Kubectl, cluster: ClusterSettings, guarded: str
) -> None:
    server = address_of(kubectl, guarded, "server")
    for node in (cluster.nodes[0].name, cluster.nodes[-1].name):
        assert reaches(kubectl, guarded, f"friend-{node}", server)
        assert not reaches(kubectl, guarded, f"stranger-{node}", server)


@pytest.mark.usefixtures("enforced_policies")
def test_the_metadata_address_is_refused_by_a_policy_and_by_nothing_else(
    kubectl: Kubectl, cluster: ClusterSettings, guarded: str
) -> None:
    node = cluster.nodes[-1].name
    assert reaches(kubectl, guarded, f"stranger-{node}", METADATA)
    assert not reaches(kubectl, guarded, f"friend-{node}", METADATA)


@pytest.mark.usefixtures("enforced_policies")
def test_restricted_pods_resolve_names_and_reach_the_api_server(
    kubectl: Kubectl, cluster: ClusterSettings, guarded: str
) -> None:
    ask = "getent hosts kubernetes.default.svc && exec 3<>/dev/tcp/kubernetes.default.svc/443"
    for node in (cluster.nodes[0].name, cluster.nodes[-1].name):
        said = kubectl("-n", guarded, "exec", f"friend-{node}", "--", "bash", "-c", ask)
        assert said.split()[0] == str(cluster.service_range[1])


@pytest.mark.usefixtures("enforced_policies")
def test_exec_and_port_forward_pass_every_policy(kubectl: Kubectl, guarded: str) -> None:
    """They come from the API server through the pod's node."""
    assert kubectl("-n", guarded, "exec", "server", "--", "echo", "passed") == "passed\n"
    with forwarded(kubectl, guarded, "pod/server", 8080) as port:
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"
        said = subprocess.run(
            ["bash", "-c", ask], capture_output=True, text=True, timeout=20, check=True
        )
    assert said.stdout == "served\n"


@pytest.mark.exclusive
@pytest.mark.usefixtures("enforced_policies")
def test_while_the_policy_engine_is_down_nothing_closes_or_opens(
    kubectl: Kubectl,
    cluster: ClusterSettings,
    images: dict[str, Image],
    guarded: str,
    tmp_path: Path,
) -> None:
    node, system = cluster.nodes[-1].name, ("-n", "kube-system")
    router = images["kube-router"].reference
    pods = ("pod", "-l", "app.kubernetes.io/name=kube-router")
    admin = CommandLine(kubectl.kubeconfig, guarded, tmp_path)
    small = apply_flavor(kubectl, guarded, resources=SMALL)
    spec = {"owner": "alice", "flavor": small, "image": images["base"].reference}
    older, newer = (DevServer(kubectl, guarded, spec, name) for name in ("older", "newer"))
    older.apply()
    older.wait("Ready")

    def use(image: str) -> None:
        kubectl(*system, "set", "image", "daemonset/kube-router", f"*={image}")
        kubectl(*system, "delete", *pods, "--timeout=60s")

    use("localhost/none:1")
    try:
        server = address_of(kubectl, guarded, "server")
        assert reaches(kubectl, guarded, f"friend-{node}", server)
        assert not reaches(kubectl, guarded, f"stranger-{node}", server)
        assert kubectl("-n", guarded, "exec", "server", "--", "echo", "passed") == "passed\n"
        create(kubectl, guarded, pod("friend-late", node, images["base"].reference))
        kubectl("-n", guarded, "wait", "pod/friend-late", "--for=condition=Ready", "--timeout=90s")
        assert not reaches(kubectl, guarded, "friend-late", server)
        assert "kube-router" in devctl("local", "status", "--name", cluster.name).stdout
        newer.apply()
        newer.follow(
            lambda found: find(found.get("status", {}), "Ready").get("reason") == "NetworkNotReady",
            "it says for what it waits",
        )
        checks = json.loads(admin("doctor", "-o", "json").stdout)["checks"]
        (found,) = [each for each in checks if each["check"] == "network"]
        assert (found["state"], "kube-router" in found["found"]) == ("warning", True)
        assert older.condition("Ready")["status"] == "True"
    finally:
        use(router)
        kubectl(*system, "rollout", "status", "daemonset/kube-router", "--timeout=90s")
    wait_until(lambda: reaches(kubectl, guarded, "friend-late", server), "it has its policy")
    newer.wait("Ready")
    kubectl("-n", guarded, "delete", "devserver", "--all", "--timeout=60s")
    kubectl("delete", "devserverflavor", small)


def stateful_set(name: str, image: str, queue: str = "", replicas: int = 2) -> dict[str, Any]:
    """Pods of 100m of CPU each."""
    labels = {"app": name}
    command = ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "labels": {QUEUE: queue} if queue else {}},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [container(image, command, cpu="100m")],
                },
            },
        },
    }


@contextmanager
def a_queue(kubectl: Kubectl, cpu: str) -> Iterator[str]:
    """A namespace with a queue `team` and a quota of its own."""
    name = f"queue-{uuid4().hex[:6]}"
    group = "kueue.x-k8s.io/v1beta2"
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    manifests: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {QUEUES: "enabled"}},
        },
        {"apiVersion": group, "kind": "ResourceFlavor", "metadata": {"name": name}},
        {
            "apiVersion": group,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            },
        },
        {
            "apiVersion": group,
            "kind": "LocalQueue",
            "metadata": {"name": "team", "namespace": name},
            "spec": {"clusterQueue": name},
        },
    ]
    for manifest in manifests:
        kubectl.api.create(manifest)
    yield name
    kubectl("-n", name, "delete", "statefulset,job,pod", "--all", "--timeout=60s")
    kubectl("delete", "namespace", name, "--timeout=60s")
    kubectl("delete", f"clusterqueue/{name}", f"resourceflavor/{name}", "--timeout=60s")


@pytest.fixture
def queue(kubectl: Kubectl) -> Iterator[str]:
    """A namespace whose queue has room for three pods of a StatefulSet."""
    with a_queue(kubectl, "300m") as name:
        yield name


def create(kubectl: Kubectl, namespace: str, manifest: dict[str, Any]) -> None:
    kubectl.api.create(manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}})


def phases(kubectl: Kubectl, namespace: str, app: str) -> list[str]:
    """The phases of its pods."""
    return [p["status"]["phase"] for p in kubectl.api.list("pod", namespace, labels=f"app={app}")]


def gated(kubectl: Kubectl, namespace: str, app: str) -> list[bool]:
    """Whether each of its pods waits for its admission."""
    pods = kubectl.api.list("pod", namespace, labels=f"app={app}")
    return [
        {"name": "kueue.x-k8s.io/admission"} in p["spec"].get("schedulingGates", []) for p in pods
    ]


def test_a_stateful_set_is_admitted_as_a_whole_and_frees_its_quota_at_zero(
    kubectl: Kubectl, images: dict[str, Image], queue: str
) -> None:
    image = images["base"].reference
    create(kubectl, queue, stateful_set("first", image, "team"))
    wait_until(lambda: phases(kubectl, queue, "first") == ["Running"] * 2, "the first runs", 90)
    create(kubectl, queue, stateful_set("second", image, "team"))
    wait_until(lambda: gated(kubectl, queue, "second") == [True] * 2, "all of the second waits")

    pending = (
        f"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/{queue}/localqueues/team"
        "/pendingworkloads"
    )

    def waiting() -> list[tuple[str, int]]:
        items = json.loads(kubectl("get", "--raw", pending))["items"]
        return [
            (item["metadata"]["name"].split("-")[1], item["positionInLocalQueue"]) for item in items
        ]

    wait_until(lambda: waiting() == [("second", 0)], lambda: f"its place is shown: {waiting()}")
    # One of its pods would fit.
    assert gated(kubectl, queue, "second") == [True] * 2
    kubectl.api.patch("statefulset", "first", {"spec": {"replicas": 0}}, queue)
    wait_until(lambda: phases(kubectl, queue, "second") == ["Running"] * 2, "it runs", 90)

    def left() -> int:
        (found,) = kubectl.api.list("statefulset", queue, fields="metadata.name=first")
        return int(found["status"]["replicas"])

    # Kueue refuses to scale up what it has not yet seen scaled down.
    wait_until(lambda: left() == 0, lambda: f"the first is scaled down: {left()}")
    kubectl.api.patch("statefulset", "first", {"spec": {"replicas": 2}}, queue)
    wait_until(lambda: gated(kubectl, queue, "first") == [True] * 2, "the first waits")


@pytest.mark.usefixtures("deployed")
def test_a_stateful_set_in_a_queue_is_scaled_by_nobody_but_the_controllers(
    kubectl: Kubectl, images: dict[str, Image], queue: str
) -> None:
    image = images["base"].reference
    create(kubectl, queue, stateful_set("queued", image, "team", replicas=1))
    create(kubectl, queue, stateful_set("free", image, replicas=0))
    scale = ("-n", queue, "scale", "--replicas=2")
    # The policy learns of a StatefulSet a moment after its creation.
    wait_until(
        lambda: not succeeds(lambda: kubectl(*scale, "statefulset/queued", "--dry-run=server")),
        "the policy knows it",
    )
    refusal = "`queued` is not scaled directly: its pods count against the quota of queue `team`"
    with pytest.raises(pytest.fail.Exception, match=refusal):
        kubectl(*scale, "statefulset/queued")
    kubectl(*scale, "statefulset/free")
    kueue = (f"--as={KUEUE}", "--as-group=system:masters")
    kubectl(*scale, "statefulset/queued", "--dry-run=server", *kueue)


def test_a_job_in_a_queue_waits_for_its_quota(
    kubectl: Kubectl, images: dict[str, Image], queue: str
) -> None:
    def job(name: str, cpu: str) -> dict[str, Any]:
        spec = {
            "restartPolicy": "Never",
            "containers": [container(images["base"].reference, ["true"], cpu)],
        }
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": {QUEUE: "team"}},
            "spec": {"template": {"spec": spec}},
        }

    create(kubectl, queue, job("large", "400m"))
    create(kubectl, queue, job("small", "100m"))
    kubectl("-n", queue, "wait", "job/small", "--for=condition=Complete", "--timeout=60s")
    large = kubectl.api.get("job", "large", queue)
    assert large
    assert large["spec"]["suspend"] is True
    assert phases(kubectl, queue, "large") == []


@pytest.mark.usefixtures("deployed")
def test_no_queue_takes_what_names_none(kubectl: Kubectl, queue: str) -> None:
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "default"},
        "spec": {"clusterQueue": queue},
    }
    with pytest.raises(pytest.fail.Exception, match="give it another name"):
        create(kubectl, queue, manifest)


@pytest.mark.exclusive
def test_without_kueue_only_objects_in_queues_are_refused(
    kubectl: Kubectl, images: dict[str, Image], queue: str
) -> None:
    image = images["base"].reference
    create(kubectl, queue, stateful_set("running", image, "team", replicas=1))
    wait_until(lambda: phases(kubectl, queue, "running") == ["Running"], "it runs", 90)
    manager = ("-n", "kueue-system", "scale", "deployment/kueue-controller-manager")
    kubectl(*manager, "--replicas=0")
    kubectl("-n", "kueue-system", "wait", "pod", "--all", "--for=delete", "--timeout=60s")
    try:
        create(kubectl, queue, stateful_set("free", image, replicas=1))
        create(kubectl, queue, pod("alone", "", image, nodeSelector={}))
        wait_until(lambda: phases(kubectl, queue, "free") == ["Running"], "a set runs", 90)
        wait_until(lambda: phases(kubectl, queue, "alone") == ["Running"], "a pod runs", 90)
        assert phases(kubectl, queue, "running") == ["Running"]
        with pytest.raises(pytest.fail.Exception, match="failed calling webhook"):
            create(kubectl, queue, stateful_set("queued", image, "team"))
    finally:
        kubectl(*manager, "--replicas=1")
        rollout = ("rollout", "status", "deployment/kueue-controller-manager", "--timeout=90s")
        kubectl("-n", "kueue-system", *rollout)
    # The Service's address leads to the new pod a moment later.
    queued = stateful_set("queued", image, "team", replicas=1)
    wait_until(
        lambda: succeeds(lambda: create(kubectl, queue, queued)), "it takes a set in a queue"
    )
    wait_until(lambda: phases(kubectl, queue, "queued") == ["Running"], "all is well again", 90)


@pytest.mark.exclusive
def test_a_part_is_removed_and_added_again(
    kubectl: Kubectl, cluster: ClusterSettings, guarded: str, enforced_policies: None
) -> None:
    assert enforced_policies is None
    server = address_of(kubectl, guarded, "server")
    client = f"stranger-{cluster.nodes[-1].name}"
    up = ("local", "up", "--name", cluster.name)
    must(devctl(*up, "--without", "network-policy"))
    assert kubectl.api.get("daemonset", "kube-router", "kube-system") is None
    assert reaches(kubectl, guarded, client, server)
    must(devctl(*up, "--with", "network-policy"))
    status = json.loads(devctl("local", "status", "--name", cluster.name, "-o", "json").stdout)
    assert status["parts"] == list(PARTS)
    wait_until(lambda: not reaches(kubectl, guarded, client, server), "it is refused again")


def test_an_unknown_part_is_refused(cluster: ClusterSettings) -> None:
    result = devctl("local", "up", "--name", cluster.name, "--with", "nat")
    assert result.returncode == 2
    assert "there is no part `nat`" in result.stderr
    *names, last = load_parts()
    assert f"{', '.join(f'`{name}`' for name in names)} and `{last}`" in result.stderr
