"""What the role `vllm_run` renders and removes."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from apply.errors import ApplyError
from apply.values import entries
from hypothesis import given
from hypothesis import strategies as st
from unit.plugins.templates import CONFINED_CONTAINER, CONFINED_POD, HOSTILE, TEXT, rendered
from vllm_run import claim as claim_module
from vllm_run.values import identity, values

from devctl.api import vllm_run as words

Thing = dict[str, Any]
PLAN = {
    "spec": {
        "items": [
            {"type": "image", "name": "pinned", "image": {"ref": "registry/vllm:1"}},
            {"type": "gitRepo", "name": "main", "gitRepo": {"url": "https://host/vllm.git"}},
            {"type": "model", "name": "opt", "model": {"repoId": "facebook/opt-125m"}},
        ]
    }
}
EXPIRED = {"type": "PodExpired", "status": "True"}
ENDED = {"phase": "Failed", "startedAt": "t", "finishedAt": "t"}


def run(status: Thing | None = None, **spec: Any) -> Thing:
    """A run; its spec has the schema's defaults, except for the given fields."""
    defaults: Thing = {
        "command": ["vllm", "serve", "m"],
        "port": 8000,
        "resources": {"cpu": "500m", "memory": "4Gi"},
    }
    given_image = {} if "imageName" in spec else {"image": "i:1"}
    metadata = {"name": "one", "namespace": "team", "uid": "u1"}
    return {
        "metadata": metadata,
        "spec": defaults | given_image | spec,
        "status": status or {},
    }


def thing(kind: str, name: str = "one", uid: str = "u1", **more: Any) -> Thing:
    """A child, as it was read."""
    metadata = {"name": name, "ownerReferences": [{"uid": uid}], **more.pop("meta", {})}
    return {"kind": kind, "metadata": metadata, "spec": {}, "status": {}} | more


def pod(phase: str = "Pending", node: str | None = None, **more: Any) -> Thing:
    spec = {"nodeName": node} if node else {}
    return thing("Pod", words.pod_name("one"), spec=spec, status={"phase": phase}, **more)


def children(
    of: Thing, pods: list[Thing] | None = None, claims: list[Thing] | None = None
) -> dict[str, Thing]:
    """What is created, by kind."""
    names = values(of, pods=pods or [], claims=claims or [], plans=[PLAN]).names
    return {each["kind"]: each for each in rendered("vllm_run", names)}


def removed(of: Thing, *things: Thing) -> list[str]:
    pods = [each for each in things if each["kind"] == "Pod"]
    claims = [each for each in things if each["kind"] == "ResourceClaim"]
    found = values(of, pods=pods, claims=claims, plans=[]).remove
    return [each["kind"] for each in found]


def container(of: Thing) -> Thing:
    (found,) = children(of)["Pod"]["spec"]["containers"]
    return dict(found)


def request(of: Thing) -> Thing:
    (found,) = children(of)["ResourceClaim"]["spec"]["devices"]["requests"]
    return dict(found)


def test_a_run_has_a_claim_a_service_and_a_pod() -> None:
    found = children(run())
    assert [(kind, each["metadata"]["name"]) for kind, each in sorted(found.items())] == [
        ("Pod", "one-vllm-pod"),
        ("ResourceClaim", "one"),
        ("Service", "one-vllm"),
    ]
    spec = found["Pod"]["spec"]
    assert spec["securityContext"] == CONFINED_POD
    assert spec["restartPolicy"] == "Never"
    assert spec["priorityClassName"] == "devctl-normal"
    assert spec["resourceClaims"] == [{"name": "gpus", "resourceClaimName": "one"}]
    assert {"name": "shm", "emptyDir": {"medium": "Memory"}} in spec["volumes"]
    assert "affinity" not in spec
    assert "nodeName" not in spec
    one = container(run())
    assert one["securityContext"] == CONFINED_CONTAINER
    assert one["command"] == ["vllm", "serve", "m"]
    assert one["resources"] == {
        "requests": {"cpu": "500m", "memory": "4Gi"},
        "limits": {"memory": "4Gi"},
        "claims": [{"name": "gpus"}],
    }
    assert one["readinessProbe"]["tcpSocket"] == {"port": 8000}
    assert found["Pod"]["metadata"]["annotations"][words.GPUS] == "1"
    assert found["Service"]["spec"]["selector"] == {words.LABEL: "one"}
    assert found["Service"]["spec"]["selector"].items() <= identity(run()).items()


def test_without_a_port_nothing_is_served() -> None:
    found = children(run(port=0))
    assert set(found) == {"Pod", "ResourceClaim"}
    assert {"ports", "readinessProbe"}.isdisjoint(found["Pod"]["spec"]["containers"][0])


@pytest.mark.parametrize(("spec", "count"), [({}, 1), ({"gpus": 3}, 3), ({"gpuIds": [5, 2]}, 2)])
def test_a_claim_asks_for_gpus_of_the_driver(spec: Thing, count: int) -> None:
    found = request(run(**spec))
    exactly = found["exactly"]
    assert found["name"] == "gpus"
    assert exactly["deviceClassName"] == "canhazgpu.com"
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", count)
    said = 'device.driver == "canhazgpu.com" && device.attributes["canhazgpu.com"].index in [2, 5]'
    wanted = [{"cel": {"expression": said}}] if "gpuIds" in spec else None
    assert exactly.get("selectors") == wanted


def test_a_node_is_preferred_and_never_required() -> None:
    spec = children(run(preferNode="n1"))["Pod"]["spec"]
    assert "nodeName" not in spec
    affinity = spec["affinity"].pop("nodeAffinity")
    assert set(affinity) == {"preferredDuringSchedulingIgnoredDuringExecution"}
    assert spec["affinity"] == {}
    ((term,),) = affinity.values()
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert term["preference"] == {"matchFields": [field]}


def preferred(**spec: Any) -> list[tuple[int, str]]:
    """The weight of each term, and the node or label that it prefers."""
    affinity = children(run(**spec))["Pod"]["spec"].get("affinity", {})
    found = []
    for term in affinity.get("nodeAffinity", {"": []}).popitem()[1]:
        ((kind, (field,)),) = term["preference"].items()
        what = field["key"] if kind == "matchExpressions" else field["values"][0]
        found.append((term["weight"], what))
    return found


def test_nodes_are_preferred_that_have_what_the_run_needs() -> None:
    labels = "cache.canhazgpu.dev/"
    assert preferred() == []
    image = [(50, f"{labels}image.pinned")]
    assert preferred(imageName="pinned") == preferred(image="registry/vllm:1") == image
    assert preferred(preferNode="n1", imageName="pinned", repoName="main", models=["opt"]) == [
        (100, "n1"),
        (20, f"{labels}git.main"),
        *image,
        (30, f"{labels}model.opt"),
    ]


def test_an_image_has_a_name_in_the_plan() -> None:
    assert container(run())["image"] == "i:1"
    assert container(run(imageName="pinned"))["image"] == "registry/vllm:1"
    with pytest.raises(ApplyError, match="has no image of that name") as refused:
        children(run(imageName="main"))
    assert refused.value.reason == "Invalid"
    assert "it has `pinned`" in str(refused.value)
    with pytest.raises(ApplyError, match="it has none"):
        values(run(imageName="pinned"), pods=[], claims=[], plans=[])


def test_a_repository_is_recorded_and_must_be_in_the_plan() -> None:
    notes = children(run(repoName="main"))["Pod"]["metadata"]["annotations"]
    assert notes[words.REPO] == "main"
    with pytest.raises(ApplyError, match="no repository of that name"):
        children(run(repoName="other"))


def test_a_plan_that_has_changed_does_not_concern_a_run_that_has_its_pod() -> None:
    gone = run({"startedAt": "t"}, imageName="gone", repoName="gone")
    assert set(children(gone, [pod("Running", "n1")])) == {"Service"}


def test_secrets_are_variables() -> None:
    secrets = [
        {"name": "hf-token", "key": "token", "env": "HF_TOKEN"},
        {"name": "plain", "key": "KEY"},
        {"name": "all"},
    ]
    env = [{"name": "A", "value": "$(B)"}, {"name": "HF_TOKEN", "value": "mine"}]
    found = container(run(env=env, secrets=secrets))
    by_name = {entry["name"]: entry for entry in found["env"]}
    # Two entries of a name could not be applied.
    assert len(by_name) == len(found["env"])
    assert by_name["A"]["value"] == "$$(B)"
    assert by_name["HF_TOKEN"] == {
        "name": "HF_TOKEN",
        "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token"}},
    }
    assert by_name["KEY"]["valueFrom"]["secretKeyRef"] == {"name": "plain", "key": "KEY"}
    assert found["envFrom"] == [{"secretRef": {"name": "all"}}]
    assert "envFrom" not in container(run())


def test_an_unknown_user_has_a_home_unless_the_run_sets_one() -> None:
    by_name = {entry["name"]: entry["value"] for entry in container(run())["env"]}
    assert by_name == {"HOME": "/home/vllm", "USER": "vllm", "LOGNAME": "vllm"}
    mounts = {each["mountPath"] for each in container(run())["volumeMounts"]}
    assert mounts == {"/tmp", "/dev/shm", "/home/vllm"}  # noqa: S108 - in the container
    own = container(run(env=[{"name": "HOME", "value": "/tmp"}]))["env"]  # noqa: S108
    assert {"name": "HOME", "value": "/tmp"} in own  # noqa: S108


@pytest.mark.parametrize(
    ("status", "pods", "made"),
    [
        ({}, [], {"Pod", "ResourceClaim", "Service"}),
        # Its claim was lost before any node was chosen: another one will do.
        ({}, [pod()], {"ResourceClaim", "Service"}),
        # From here on, another claim would be for other GPUs than the pod's.
        ({}, [pod(node="n1")], {"Service"}),
        ({"startedAt": "t"}, [pod("Running", "n1")], {"Service"}),
        ({"startedAt": "t"}, [], {"Service"}),
        (ENDED, [pod("Failed", "n1")], set()),
        (ENDED, [], set()),
        # Of an earlier run of the name.
        ({}, [pod(uid="u0")], {"Pod", "ResourceClaim", "Service"}),
    ],
)
def test_claim_and_pod_are_created_once(status: Thing, pods: list[Thing], made: set[str]) -> None:
    assert set(children(run(status), pods)) == made


def test_at_its_end_the_gpus_go_back_and_the_pod_stays_for_its_output() -> None:
    claim, ended = thing("ResourceClaim"), pod("Failed", "n1")
    assert removed(run({"startedAt": "t"}), pod("Running", "n1"), claim) == []
    assert removed(run(ENDED), ended, claim) == ["ResourceClaim"]
    assert removed(run(ENDED | {"conditions": [EXPIRED]}), ended, claim) == [
        "Pod",
        "ResourceClaim",
    ]
    # It took too long, and would go on.
    assert removed(run(ENDED), pod(), claim) == ["Pod", "ResourceClaim"]
    going = thing("ResourceClaim", meta={"deletionTimestamp": "t"})
    assert removed(run(ENDED), going) == []
    assert removed(run(ENDED), thing("ResourceClaim", uid="u0")) == []


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_texts_arrive_unchanged(value: str, command: list[str]) -> None:
    found = container(run(command=command, env=[{"name": "A", "value": value}]))
    assert found["command"] == command
    assert found["env"][-1:] == entries({"A": value})


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    secrets = [{"name": text, "key": text, "env": "A"}]
    found = container(run(command=[text], imageName="pinned", secrets=secrets))
    assert found["command"] == [text]
    assert found["env"][-1]["valueFrom"]["secretKeyRef"] == {"name": text, "key": text}


def test_what_is_made_says_for_whom() -> None:
    assert identity(run()) == {
        "app.kubernetes.io/managed-by": "devctl",
        "canhazgpu.dev/vllmrun": "one",
    }


@pytest.mark.parametrize("module", [claim_module, words])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
