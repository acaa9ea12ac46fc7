"""The operator in the cluster: deployed, confined, leading, and answering DevServers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.deployment import SYSTEM, deploy
from support.rights import own_rules
from support.servers import wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

pytestmark = pytest.mark.usefixtures("deployed")

SAMPLES = REPOSITORY / "config/samples"
FLAVORS = ("devserverflavor", "devserverflavor-small")

# Everything that the operator may do and others may not: API group, resource, name, verb. Flavors
# everybody may read.
CLUSTER_WIDE = {
    ("authentication.k8s.io", "tokenreviews", "", "create"),
    ("authorization.k8s.io", "subjectaccessreviews", "", "create"),
    ("devops.yourcompany.com", "devservers/status", "", "patch"),
    ("gpu.yourdomain.io", "ephemeralaccelerationjobs/status", "", "patch"),
} | {
    (group, resource, "", verb)
    for group, resources, verbs in [
        ("devops.yourcompany.com", "devservers", "get list watch"),
        ("", "persistentvolumeclaims", "get list watch create patch"),
        ("gpu.yourdomain.io", "ephemeralaccelerationjobs", "get list watch"),
        ("", "configmaps secrets services pods", "get list watch create patch delete"),
        ("apps", "statefulsets", "get list watch create patch delete"),
    ]
    for resource in resources.split()
    for verb in verbs.split()
}
OWN_NAMESPACE = {
    ("", "events", "", "create"),
    ("coordination.k8s.io", "leases", "", "create"),
    ("coordination.k8s.io", "leases", "devctl-operator", "get"),
    ("coordination.k8s.io", "leases", "devctl-operator", "update"),
}

# Prints the HTTP status of the operator's metrics, asked for with the token given, if any.
ASK_FOR_METRICS = """
import ssl, sys, urllib.error, urllib.request
headers = {"Authorization": f"Bearer {sys.argv[1]}"} if len(sys.argv) > 1 else {}
request = urllib.request.Request("https://localhost:8443/metrics", headers=headers)
try:
    print(urllib.request.urlopen(request, context=ssl._create_unverified_context()).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


def operator_pod(kubectl: Kubectl) -> str:
    """The name of the operator's one pod, once it is ready and no other is left."""
    kubectl("rollout", "status", "deployment/devctl-operator", "-n", SYSTEM, "--timeout=60s")
    selector = "app.kubernetes.io/name=devctl,app.kubernetes.io/component=operator"
    found = json.loads(kubectl("get", "pods", "-n", SYSTEM, "-l", selector, "-o", "json"))
    pods = [pod for pod in found["items"] if "deletionTimestamp" not in pod["metadata"]]
    assert len(pods) == 1
    conditions = {c["type"]: c["status"] for c in pods[0]["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    return str(pods[0]["metadata"]["name"])


def lease_holder(kubectl: Kubectl) -> str:
    """The name of the pod that leads; the lease adds an underscore and a random part."""
    path = "jsonpath={.spec.holderIdentity}"
    return kubectl("get", "lease", "devctl-operator", "-n", SYSTEM, "-o", path).partition("_")[0]


def sample(name: str, namespace: str) -> dict[str, Any]:
    """A manifest from config/samples, moved to a namespace of the test's."""
    manifest: dict[str, Any] = yaml.safe_load((SAMPLES / name).read_text())
    manifest["metadata"]["namespace"] = namespace
    return manifest


@pytest.fixture(scope="module")
def flavors(kubectl: Kubectl) -> Iterator[None]:
    """The samples' flavors."""
    files = [f"--filename={SAMPLES}/{name}.yaml" for name in FLAVORS]
    kubectl("apply", "--server-side", *files)
    yield
    kubectl("delete", *files)


def refusal(kubectl: Kubectl, manifest: dict[str, Any]) -> str:
    """What the API server says against a manifest."""
    with pytest.raises(pytest.fail.Exception) as failure:
        kubectl("create", "-f", "-", input=json.dumps(manifest))
    return str(failure.value)


def test_a_second_deployment_changes_nothing(paths: ClusterPaths, images: dict[str, Image]) -> None:
    # What other tests scaled becomes ours again with the first.
    deploy(paths, images)
    assert " changed=0 " in deploy(paths, images)


def test_the_pod_is_ready_and_confined(kubectl: Kubectl) -> None:
    pod = operator_pod(kubectl)

    script = (
        "id -u; touch /probe 2>/dev/null && echo writable || echo read-only;"
        "touch /tmp/probe && echo scratch;"
        "awk '/^(CapEff|CapBnd|NoNewPrivs|Seccomp):/ {print $2}' /proc/self/status"
    )
    answers = kubectl("exec", pod, "-n", SYSTEM, "--", "sh", "-c", script).split()

    no_capabilities = "0" * 16
    assert answers == ["1001", "read-only", "scratch", no_capabilities, no_capabilities, "1", "2"]


def test_the_namespace_refuses_what_is_not_restricted(kubectl: Kubectl) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "unconfined", "namespace": SYSTEM},
        "spec": {"containers": [{"name": "main", "image": "none:1"}]},
    }

    assert 'violates PodSecurity "restricted' in refusal(kubectl, pod)


def test_it_may_do_exactly_what_it_does(kubectl: Kubectl) -> None:
    for namespace, expected in [(SYSTEM, CLUSTER_WIDE | OWN_NAMESPACE), ("default", CLUSTER_WIDE)]:
        assert own_rules(kubectl, "devctl-operator", namespace) == expected


@pytest.mark.usefixtures("flavors")
@pytest.mark.parametrize(
    "name", ["devserver.yaml", "devserver-small.yaml", "devserver-distributed.yaml"]
)
def test_a_sample_is_accepted_and_answered(kubectl: Kubectl, namespace: str, name: str) -> None:
    manifest = sample(name, namespace)
    server = f"devserver/{manifest['metadata']['name']}"

    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(manifest))
    kubectl("wait", server, "-n", namespace, "--for=condition=Applied", "--timeout=60s")

    children = json.loads(kubectl("get", "statefulset,service,pvc", "-n", namespace, "-o", "json"))
    name = manifest["metadata"]["name"]
    made = {(child["kind"], child["metadata"]["name"]) for child in children["items"]}
    expected = {
        ("StatefulSet", name),
        ("Service", name),
        ("PersistentVolumeClaim", f"home-{name}-0"),
    }
    assert expected <= made


@pytest.mark.parametrize("name", ["devserverflavor.yaml", "devserverflavor-small.yaml"])
def test_a_sample_flavor_is_accepted(kubectl: Kubectl, name: str) -> None:
    kubectl("apply", "--server-side", "--dry-run=server", "-f", str(SAMPLES / name))


def test_only_readers_get_metrics(kubectl: Kubectl, namespace: str) -> None:
    def status(*token: str) -> int:
        command = ("python", "-c", ASK_FOR_METRICS, *token)
        pod = operator_pod(kubectl)
        return int(kubectl("exec", pod, "-n", SYSTEM, "--", *command))

    for account in ("reader", "stranger"):
        kubectl("create", "serviceaccount", account, "-n", namespace)
    binding = f"{namespace}-reader"
    kubectl(
        *("create", "clusterrolebinding", binding),
        *("--clusterrole=devctl-metrics-reader", f"--serviceaccount={namespace}:reader"),
    )
    try:
        assert status() == 401
        assert status(kubectl("create", "token", "stranger", "-n", namespace).strip()) == 403
        assert status(kubectl("create", "token", "reader", "-n", namespace).strip()) == 200
    finally:
        kubectl("delete", "clusterrolebinding", binding)


@pytest.mark.exclusive
@pytest.mark.usefixtures("flavors")
def test_a_new_pod_takes_the_lead_and_goes_on(kubectl: Kubectl, namespace: str) -> None:
    leader = operator_pod(kubectl)
    # It may have taken over from another one just now.
    wait_until(lambda: lease_holder(kubectl) == leader, f"{leader} leads")

    kubectl("delete", "pod", leader, "-n", SYSTEM, "--grace-period=0", "--force")
    manifest = sample("devserver-small.yaml", namespace)
    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(manifest))

    deadline = time.monotonic() + 60  # the dead leader's lease runs out after 15 s
    while lease_holder(kubectl) == leader:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    kubectl("wait", "devserver/small", "-n", namespace, "--for=condition=Applied", "--timeout=60s")
    assert lease_holder(kubectl) == operator_pod(kubectl)
