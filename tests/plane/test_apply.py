"""The `apply` action against a real API server, as a role runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from apply.errors import StaleReadError
from apply.server.client import Cluster
from apply.server.connection import connect
from support.runs import OF_THE_CHECKOUT, Operator
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

LABEL = "devops.yourcompany.com/devserver"
IDENTITY = {"app.kubernetes.io/managed-by": "devctl", LABEL: "ada"}
CONFIG_MAPS = [{"apiVersion": "v1", "kind": "ConfigMap"}]
CLAIMS = [{"apiVersion": "v1", "kind": "PersistentVolumeClaim"}]
ONCE = {"devops.yourcompany.com/create-only": "true"}
TASKS = """
- name: Apply
  apply:
    owner: "{{ owner }}"
    values: support.given
    templates: ["{{ template | default('all.yaml.j2') }}"]
    prune: "{{ prune | default([]) }}"
  check_mode: "{{ check | default(false) }}"
  diff: "{{ check | default(false) }}"
"""
ALL = "{% for one in manifests %}\n---\n{{ one }}\n{% endfor %}\n"
TEXTS = {
    "templates/text.yaml.j2": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a},"
    " data: {value: {{ value }} } }\n"
}
Manifest = dict[str, Any]
Apply = Callable[..., Manifest]
Get = Callable[[str], Manifest]


def config(name: str, value: str = "x", kind: str = "ConfigMap", **metadata: Any) -> Manifest:
    field = "data" if kind == "ConfigMap" else "stringData"
    metadata = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, field: {"value": value}}


def claim(name: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": spec | {"storageClassName": "none"},
    }


@pytest.fixture
def get(kubectl: Kubectl, namespace: str) -> Get:
    """An object of the test's namespace, by `kind/name`, with its field managers."""

    def ask(name: str) -> Manifest:
        kind, _, called = name.partition("/")
        found = kubectl.api.get(kind.lower(), called, namespace)
        assert found, name
        return found

    return ask


@pytest.fixture
def create(kubectl: Kubectl, namespace: str) -> Callable[[Manifest], Manifest]:
    """Somebody else makes an object."""

    def make(manifest: Manifest) -> Manifest:
        metadata = manifest["metadata"] | {"namespace": namespace}
        return kubectl.api.create(manifest | {"metadata": metadata})

    return make


@pytest.fixture
def names(kubectl: Kubectl, namespace: str) -> Callable[[str], set[str]]:
    """The names of a kind's objects, but for the one that every namespace has."""

    def ask(kind: str) -> set[str]:
        found = kubectl.api.list(kind, namespace)
        return {thing["metadata"]["name"] for thing in found} - {"kube-root-ca.crt"}

    return ask


@pytest.fixture(scope="module")
def runner(
    python: Path, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    """The warm runner, with a role of one task that gets everything as variables."""
    found = Operator(tmp_path_factory.mktemp("runner"), python, OF_THE_CHECKOUT)
    (found.folder / "kubeconfig-1").write_bytes(kubeconfig.read_bytes())
    for file, text in {"tasks/main.yml": TASKS, "templates/all.yaml.j2": ALL, **TEXTS}.items():
        (found.folder / "role" / file).parent.mkdir(parents=True, exist_ok=True)
        (found.folder / "role" / file).write_text(text)
    found.start(found.folder / "role")
    yield found
    found.stop()


@pytest.fixture
def apply(create: Callable[[Manifest], Manifest], runner: Operator) -> Apply:
    """Runs the role for manifests, in the name of an object `ada`; the task's result."""
    made = create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ada"}})

    def run(
        *manifests: Manifest, value: str = "", of: Manifest = made, **variables: Any
    ) -> dict[str, Any]:
        names = {"manifests": manifests, "value": value}
        owner = of | {"given": {"identity": IDENTITY, "names": names}}
        done = runner.run("warm", runner.folder / "role", {"owner": owner, **variables})
        found = [event for event in done.events if "res" in event["event_data"]]
        assert found, done.output
        failed = found[-1]["event"] == "runner_on_failed"
        result: dict[str, Any] = {**found[-1]["event_data"]["res"], "failed": failed}
        return result

    return run


@pytest.fixture
def user(kubectl: Kubectl, namespace: str) -> Iterator[Manifest]:
    """An object that is in no namespace, called as the test's."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    yield kubectl.api.create(role | {"metadata": {"name": namespace}})
    kubectl.api.delete("clusterrole", namespace)


def actions(result: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["action"] for entry in result["objects"]}


def test_a_second_apply_writes_nothing(apply: Apply, get: Get) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "svc"},
        "spec": {"clusterIP": "None", "ports": [{"port": 80}], "selector": IDENTITY},
    }
    server = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "set"},
        "spec": {
            "replicas": 0,
            "serviceName": "svc",
            "selector": {"matchLabels": IDENTITY},
            "template": {
                "metadata": {"labels": IDENTITY},
                "spec": {
                    "containers": [
                        # Quantities and ports that the server writes in another way.
                        {
                            "name": "main",
                            "image": "none:1",
                            "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
                            "ports": [{"containerPort": 29500}],
                        }
                    ]
                },
            },
        },
    }
    everything = (config("a"), config("b"), config("s", kind="Secret"), claim("home"))
    manifests = (*everything, service, server)
    stored = (
        "configmap/a",
        "configmap/b",
        "secret/s",
        "pvc/home",
        "service/svc",
        "statefulset/set",
    )

    first = apply(*manifests)
    assert first["changed"]
    assert set(actions(first).values()) == {"created"}
    # Its controller has its say once.
    wait_until(lambda: "observedGeneration" in get("statefulset/set")["status"], "it is seen")
    before = [get(name) for name in stored]
    second = apply(*manifests)

    assert not second["changed"]
    assert set(actions(second).values()) == {"unchanged"}
    assert [get(name) for name in stored] == before


def test_every_object_but_a_claim_gets_its_owner(apply: Apply, get: Get) -> None:
    apply(config("a"), claim("home"))

    owned, data = get("configmap/a")["metadata"], get("pvc/home")["metadata"]
    owner = get("serviceaccount/ada")["metadata"]
    reference = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "name": "ada",
        "uid": owner["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert owned["ownerReferences"] == [reference]
    assert "ownerReferences" not in data
    assert owned["labels"] == data["labels"] == IDENTITY


def test_a_claim_outlives_pruning_and_its_owner(
    apply: Apply, kubectl: Kubectl, namespace: str, get: Get
) -> None:
    apply(config("a"), claim("home"))
    before = get("pvc/home")["metadata"]

    assert apply(config("a"), prune=CLAIMS)["pruned"] == []
    kubectl.api.delete("serviceaccount", "ada", namespace)
    wait_until(lambda: kubectl.api.get("configmap", "a", namespace) is None, "it goes")

    after = get("pvc/home")["metadata"]
    assert after["uid"] == before["uid"]
    assert "deletionTimestamp" not in after


@pytest.mark.parametrize("holder", ["nobody", "another owner"])
def test_a_foreign_object_is_refused_and_nothing_written(
    apply: Apply,
    create: Callable[[Manifest], Manifest],
    get: Get,
    names: Callable[[str], set[str]],
    holder: str,
) -> None:
    metadata: dict[str, Any] = {}
    if holder == "another owner":
        other = create(config("other"))
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "controller": True}
        reference["uid"] = other["metadata"]["uid"]
        metadata = {"labels": IDENTITY, "ownerReferences": [reference]}
    create(config("z", "theirs", **metadata))
    before, there = get("configmap/z"), names("configmap")

    result = apply(config("a"), config("z", "ours"), prune=CONFIG_MAPS)

    assert (result["failed"], result["changed"], result["reason"]) == (True, False, "Conflict")
    assert "ConfigMap " in result["msg"]
    assert ("ConfigMap " + before["metadata"]["namespace"] + "/z exists") in result["msg"]
    if holder == "another owner":
        assert "/other, not to ServiceAccount" in result["msg"]
    assert names("configmap") == there
    assert get("configmap/z") == before


def test_what_is_no_longer_rendered_is_pruned(
    apply: Apply, create: Callable[[Manifest], Manifest], names: Callable[[str], set[str]]
) -> None:
    apply(config("a"), config("b"), config("c", kind="Secret"))
    # Ours by label, but not by UID.
    create(config("labelled", labels=IDENTITY))

    result = apply(config("a"), prune=CONFIG_MAPS)

    assert result["pruned"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}]
    assert names("configmap") == {"a", "labelled"}
    assert names("secret") == {"c"}


def test_a_field_that_is_set_once_is_anothers_afterwards(
    apply: Apply, get: Get, kubectl: Kubectl, namespace: str
) -> None:
    once = {"devops.yourcompany.com/create-only-fields": "spec.suspend"}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none:1"}]}
    spec = {"suspend": True, "parallelism": 1, "template": {"spec": pod}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "annotations": once}}
    for parallelism, action in ((1, "created"), (1, "unchanged"), (2, "configured")):
        assert actions(apply(job | {"spec": spec | {"parallelism": parallelism}})) == {"a": action}
        assert get("job/a")["spec"]["suspend"] is True
    # As a queue does.
    kubectl.api.patch("job", "a", {"spec": {"suspend": False}}, namespace)
    for parallelism, action in ((2, "unchanged"), (3, "configured")):
        assert actions(apply(job | {"spec": spec | {"parallelism": parallelism}})) == {"a": action}
        assert get("job/a")["spec"]["suspend"] is False


def test_what_is_made_once_stays(apply: Apply, get: Get) -> None:
    assert actions(apply(config("key", "one", "Secret", annotations=ONCE))) == {"key": "created"}
    before = get("secret/key")

    assert actions(apply(config("key", "two", "Secret", annotations=ONCE))) == {"key": "unchanged"}
    assert get("secret/key") == before
    assert before["metadata"]["ownerReferences"]


def test_check_mode_writes_nothing_and_shows_what_it_would(
    apply: Apply, get: Get, names: Callable[[str], set[str]]
) -> None:
    apply(config("a"), config("b"))
    before = get("configmap/a")

    result = apply(config("a", "y"), config("new"), prune=CONFIG_MAPS, check=True)

    assert result["changed"]
    assert actions(result) == {"a": "configured", "new": "created"}
    assert [entry["name"] for entry in result["pruned"]] == ["b"]
    changed, made, pruned = result["diff"]
    assert (changed["before"]["data"], changed["after"]["data"]) == ({"value": "x"}, {"value": "y"})
    assert (made["before"], pruned["after"]) == ({}, {})
    assert get("configmap/a") == before
    assert names("configmap") == {"a", "b"}


def test_another_managers_fields_are_reported_and_our_own_move(
    apply: Apply, kubectl: Kubectl, namespace: str, get: Get
) -> None:
    apply(config("a"))
    patch = ("patch", "configmap/a", "-n", namespace, "-p", '{"data": {"value": "edited"}}')

    kubectl(*patch, "--field-manager=devctl-operator")
    assert actions(apply(config("a", "y"))) == {"a": "configured"}

    kubectl(*patch, "--field-manager=someone")
    result = apply(config("a", "y"))
    assert (result["reason"], result["retryable"]) == ("Conflict", False)
    assert f"ConfigMap {namespace}/a: Apply failed with 1 conflict" in result["msg"]
    assert '"someone"' in result["msg"]
    assert get("configmap/a")["data"] == {"value": "edited"}


def test_what_is_about_to_go_is_waited_for(
    apply: Apply,
    create: Callable[[Manifest], Manifest],
    kubectl: Kubectl,
    namespace: str,
    names: Callable[[str], set[str]],
) -> None:
    held = config("going", labels=IDENTITY, finalizers=["example.com/held"])
    create(held)
    kubectl("delete", "configmap/going", "-n", namespace, "--wait=false")
    try:
        result = apply(config("a"), config("going"))
    finally:
        patch = '{"metadata": {"finalizers": null}}'
        kubectl("patch", "configmap/going", "-n", namespace, "--type=merge", "-p", patch)

    assert (result["reason"], result["retryable"]) == ("Terminating", True)
    assert "going is still being deleted" in result["msg"]
    assert "a" not in names("configmap")


@pytest.mark.parametrize(
    ("manifest", "reason", "message"),
    [
        (config("a") | {"dta": {}}, "Invalid", ".dta: field not declared in schema"),
        (config("A_B"), "Invalid", 'ConfigMap "A_B" is invalid: metadata.name'),
        (config("a") | {"data": {"v": 5}}, "Invalid", "data"),
        (config("a", namespace="default"), "Invalid", "default/a is outside the owner"),
        (config("a", kind="Nothing"), "Invalid", "does not serve kind Nothing in v1"),
        (config("a", kind="Namespace"), "Invalid", "is cluster-scoped"),
        (
            config("a") | {"apiVersion": "example.com/v1"},
            "Invalid",
            "does not serve kind ConfigMap in example",
        ),
    ],
)
def test_the_servers_own_words_are_quoted(
    apply: Apply, manifest: Manifest, reason: str, message: str
) -> None:
    result = apply(manifest)

    assert result["failed"]
    assert result["reason"] == reason
    assert message in result["msg"]
    assert "\n" not in result["msg"]


def test_a_quota_is_a_reason_of_its_own(apply: Apply, kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "quota", "none", "-n", namespace, "--hard=count/secrets=0")
    path = "jsonpath={.status.hard}"
    kubectl("wait", "quota/none", "-n", namespace, f"--for={path}", "--timeout=30s")

    result = apply(config("s", kind="Secret"))

    assert (result["reason"], result["retryable"]) == ("QuotaExceeded", True)
    assert f"Secret {namespace}/s:" in result["msg"]
    assert "exceeded quota: none" in result["msg"]


def test_a_kind_that_is_not_built_in_is_found(apply: Apply, get: Get) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "found"},
        "spec": {"holderIdentity": "ada"},
    }

    assert actions(apply(lease)) == {"found": "created"}
    assert get("lease/found")["spec"]["holderIdentity"] == "ada"


def test_values_keep_their_text(apply: Apply, get: Get) -> None:
    value = 'a: b\n---\n"c" \\ \u2028 😀'

    result = apply(template="text.yaml.j2", value=value)

    assert not result["failed"], result.get("msg")
    assert get("configmap/a")["data"] == {"value": value}


def test_an_outdated_read_never_hits_its_successor(
    create: Callable[[Manifest], Manifest],
    kubectl: Kubectl,
    namespace: str,
    kubeconfig: Path,
    get: Get,
) -> None:
    outdated = create(config("a", "first"))
    kubectl("delete", "configmap/a", "-n", namespace)
    uid = outdated["metadata"]["uid"]
    manifest = config("a", uid=uid, namespace=namespace) | {"data": {"other": "ours"}}

    with connect({"KUBECONFIG": str(kubeconfig)}) as client:
        cluster = Cluster(client, namespace, "devctl-operator")
        with pytest.raises(StaleReadError, match="ConfigMap"):
            cluster.apply(manifest)
        create(config("a", "second"))
        with pytest.raises(StaleReadError, match="ConfigMap"):
            cluster.apply(manifest)
        with pytest.raises(StaleReadError, match="ConfigMap"):
            cluster.delete(outdated)

    assert get("configmap/a")["data"] == {"value": "second"}


def test_what_is_there_by_now_is_not_taken_for_what_was_to_be_made(
    create: Callable[[Manifest], Manifest], namespace: str, kubeconfig: Path, get: Get
) -> None:
    others = [config("a") | {"data": {"other": "theirs"}}, config("b", "theirs"), claim("c")]
    there = [f"{create(other)['kind']}/{other['metadata']['name']}" for other in others]
    before = [get(name) for name in there]

    with connect({"KUBECONFIG": str(kubeconfig)}) as client:
        cluster = Cluster(client, namespace, "devctl-operator")
        for manifest in (config("a"), config("b"), claim("c")):
            manifest["metadata"]["namespace"] = namespace
            with pytest.raises(StaleReadError, match=manifest["kind"]):
                cluster.make(manifest)
            made = cluster.make(manifest | {"metadata": {"name": "new", "namespace": namespace}})
            assert made["metadata"]["resourceVersion"] != "1"
            cluster.delete(made)

    assert [get(name) for name in there] == before


def test_an_owner_without_a_namespace_has_objects_anywhere_and_they_go_with_it(
    apply: Apply, user: Manifest, kubectl: Kubectl, namespace: str
) -> None:
    everywhere = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    other = f"{namespace}-other"
    everything = (
        config("a", namespace=namespace),
        config("a", namespace="default"),
        everywhere | {"metadata": {"name": other}, "rules": []},
    )
    result = apply(*everything, of=user)
    assert not result["failed"], result.get("msg")
    assert not apply(*everything, of=user)["changed"]

    pruned = apply(everything[0], of=user, prune=CONFIG_MAPS)["pruned"]
    assert [gone["name"] for gone in pruned] == ["a"]
    assert kubectl.api.get("configmap", "a", "default") is None
    assert kubectl.api.get("configmap", "a", namespace)

    kubectl.api.delete("clusterrole", namespace)
    for where in (("configmap", "a", namespace), ("clusterrole", other, None)):
        wait_until(lambda at=where: kubectl.api.get(*at) is None, f"{where} goes")  # type: ignore[misc]
