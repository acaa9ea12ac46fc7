"""What the role `gpu_workload` renders and removes."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from gpu_workload import job as job_module
from gpu_workload.values import KEPT, identity, values
from hypothesis import given
from hypothesis import strategies as st
from unit.plugins.templates import CONFINED_CONTAINER, CONFINED_POD, HOSTILE, TEXT, rendered

from devctl.api import gpu_workload as words
from devctl.api import ranks
from devctl.api.queues import PRIORITIES, QUEUE_NAME

Thing = dict[str, Any]
CHOSEN = {"phase": "Scheduling", "attempt": 1, "assignedNode": "n1"}
EXPIRED = {"type": "JobsExpired", "status": "True"}


def workload(status: Thing | None = None, **spec: Any) -> Thing:
    """A workload; its spec has the schema's defaults, except for the given fields."""
    defaults = {
        "modelName": "llama2",
        "gpuCount": 2,
        "priority": "normal",
        "image": words.DEFAULT_IMAGE,
        "resources": {"cpu": "500m", "memory": "1Gi"},
        "stopped": False,
    }
    metadata = {"name": "one", "namespace": "team", "uid": "u1"}
    return {"metadata": metadata, "spec": defaults | spec, "status": status or {}}


def job(attempt: int, uid: str = "u1", ended: str = "", **metadata: Any) -> Thing:
    """The Job of an attempt."""
    said = [{"type": ended, "status": "True"}] if ended else []
    labels, owners = {words.ATTEMPT: str(attempt)}, [{"uid": uid}]
    name = words.job_name("one", attempt)
    found = {"name": name, "labels": labels, "ownerReferences": owners, **metadata}
    return {"metadata": found, "status": {"conditions": said}}


def children(of: Thing) -> dict[str, Thing]:
    """What is created, by kind."""
    names = values(of, jobs=[], claims=[]).names
    found = rendered("gpu_workload", {**names, "claim": None})
    return {thing["kind"]: thing for thing in found}


def made(of: Thing) -> Thing:
    """The Job that is created."""
    return children(of)["Job"]


def container(of: Thing) -> Thing:
    (found,) = made(of)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def removed(of: Thing, *jobs: Thing) -> list[int]:
    found = values(of, jobs=list(jobs), claims=[]).remove
    return [int(each["metadata"]["labels"][words.ATTEMPT]) for each in found]


def test_the_job_of_an_attempt() -> None:
    found = made(workload(CHOSEN))
    spec = found["spec"]
    pod, template = spec["template"]["spec"], spec["template"]["metadata"]
    assert found["metadata"]["name"] == "one-1"
    assert found["metadata"]["labels"] == {"app": "llama2", words.ATTEMPT: "1"}
    assert spec["backoffLimit"] == 0
    assert {"completionMode", "parallelism", "completions"}.isdisjoint(spec)
    assert "subdomain" not in pod
    assert list(children(workload(CHOSEN))) == ["Job"]
    assert template["labels"] == {"app": "llama2"} | identity(workload())
    assert pod["securityContext"] == CONFINED_POD
    assert pod["priorityClassName"] == "devctl-normal"
    one = container(workload(CHOSEN))
    assert one["securityContext"] == CONFINED_CONTAINER
    assert one["env"] == [
        {"name": "MODEL_NAME", "value": "llama2"},
        {"name": "GPU_COUNT", "value": "2"},
    ]
    assert one["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
        "limits": {"memory": "1Gi", "nvidia.com/gpu": "2"},
    }


def test_the_node_is_preferred_and_never_required() -> None:
    pod = made(workload(CHOSEN))["spec"]["template"]["spec"]
    assert "nodeName" not in pod
    assert "nodeSelector" not in pod
    (term,) = pod["affinity"]["nodeAffinity"].pop("preferredDuringSchedulingIgnoredDuringExecution")
    assert pod["affinity"] == {"nodeAffinity": {}}
    assert term["preference"]["matchFields"] == [
        {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    ]
    del pod
    # In a queue, no node may be free yet.
    queued = made(workload({"phase": "Scheduling", "attempt": 1}, queueName="gpus"))
    assert "affinity" not in queued["spec"]["template"]["spec"]
    assert queued["metadata"]["labels"][QUEUE_NAME] == "gpus"


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        ({}, {}),
        (CHOSEN | {"jobName": "one-1"}, {}),  # created before, and perhaps gone
        (CHOSEN, {"stopped": True}),
        ({"phase": "Pending", "attempt": 1, "nextRetryAt": "t"}, {}),
        ({"phase": "Running", "attempt": 1, "jobName": "one-1"}, {}),
        ({"phase": "Failed", "attempt": 1}, {}),
    ],
)
def test_an_attempt_has_one_job(status: Thing, spec: Thing) -> None:
    assert values(workload(status, **spec), jobs=[], claims=[]).names["job"] is None


def test_several_pods_are_one_job_whose_ranks_find_each_other() -> None:
    found = children(workload(CHOSEN, nodes=3))
    spec = found["Job"]["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["parallelism"] == spec["completions"] == 3
    assert spec["backoffLimit"] == 0
    service = found["Service"]
    assert spec["template"]["spec"]["subdomain"] == service["metadata"]["name"] == "gw-one"
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    labels = spec["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    plain = {e["name"]: e["value"] for e in container(workload(CHOSEN, nodes=3))["env"][4:]}
    assert plain == {
        "WORLD_SIZE": "6",
        "LOCAL_WORLD_SIZE": "2",
        "NNODES": "3",
        "MASTER_ADDR": "one-1-0.gw-one",
        "MASTER_PORT": "29500",
    }


def test_a_rank_is_the_index_of_its_pod() -> None:
    label = "metadata.labels['batch.kubernetes.io/job-completion-index']"
    number = {"fieldRef": {"fieldPath": label}}
    given = [{"name": "A", "value": "b"}]
    env = container(workload(CHOSEN, nodes=2, env=given))["env"]
    assert [e["name"] for e in env[:3]] == ["MODEL_NAME", "GPU_COUNT", "A"]
    assert env[3:5] == [{"name": name, "valueFrom": number} for name in ranks.OWN_VARIABLES]
    assert [e["name"] for e in env[5:]] == list(ranks.VARIABLES)


def test_all_pods_prefer_all_chosen_nodes() -> None:
    chosen = CHOSEN | {"assignedNode": "b", "assignedNodes": ["b", "a", "b"]}
    affinity = made(workload(chosen, nodes=3))["spec"]["template"]["spec"]["affinity"]
    terms = affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    fields = [field for term in terms for field in term["preference"]["matchFields"]]
    # The API server takes one name in each.
    assert [field["values"] for field in fields] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("status", "spec", "there"),
    [
        ({}, {}, True),
        (CHOSEN | {"jobName": "one-1"}, {}, True),
        ({"phase": "Running", "attempt": 1, "jobName": "one-1"}, {}, True),
        ({"phase": "Running", "attempt": 1, "jobName": "one-1"}, {"nodes": 1}, False),
        ({"phase": "Succeeded", "attempt": 1}, {}, False),
        ({"phase": "Failed", "attempt": 1}, {}, False),
        ({}, {"stopped": True}, False),
    ],
)
def test_the_service_is_there_while_ranks_may_need_it(
    status: Thing, spec: Thing, *, there: bool
) -> None:
    names = values(workload(status, **({"nodes": 2} | spec)), jobs=[], claims=[]).names
    assert (names["service"] is not None) is there


def test_the_longest_names_are_host_names() -> None:
    name = "a" * words.LONGEST_NAME
    assert len(f"{words.job_name(name, 1000)}-63") <= 63
    assert len(words.service_name(name)) <= 63


def test_only_the_default_image_gets_a_command() -> None:
    assert container(workload(CHOSEN))["command"][-1] == "devctl_inference.model"
    for own in ({"image": "mine:1"}, {"args": ["x"]}):
        assert "command" not in container(workload(CHOSEN, **own))
    assert container(workload(CHOSEN, command=["a", "b"]))["command"] == ["a", "b"]


def test_volumes_limits_and_the_environment() -> None:
    volume = {"claimName": "data", "mountPath": "/models", "readOnly": True}
    given = workload(
        CHOSEN,
        volumes=[volume],
        timeout="1h30m",
        env=[{"name": "A", "value": "$(HOME)"}],
        resources={"cpu": 1, "memory": "1Gi", "ephemeral-storage": "8Gi"},
    )
    found = made(given)["spec"]
    assert found["activeDeadlineSeconds"] == 5400
    assert {"name": "A", "value": "$$(HOME)"} in container(given)["env"]
    assert container(given)["resources"]["limits"]["ephemeral-storage"] == "8Gi"
    assert {"name": "volume-0", "mountPath": "/models", "readOnly": True} in container(given)[
        "volumeMounts"
    ]
    claim = {"claimName": "data", "readOnly": True}
    volumes = found["template"]["spec"]["volumes"]
    assert {"name": "volume-0", "persistentVolumeClaim": claim} in volumes


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_stay_texts(text: str) -> None:
    found = container(workload(CHOSEN, modelName=text, args=[text], image="a:1"))
    assert found["args"] == [text]
    assert found["env"][0]["value"] == text.replace("$", "$$")


def test_what_is_over_is_stopped() -> None:
    running = workload({"phase": "Running", "attempt": 2, "jobName": "one-2"})
    assert removed(running, job(1, ended="Failed"), job(1), job(2), job(1, uid="other")) == [1]
    stopped = workload({"phase": "Running", "attempt": 2, "jobName": "one-2"}, stopped=True)
    assert removed(stopped, job(1, ended="Failed"), job(2)) == [2]
    backing_off = workload({"phase": "Pending", "attempt": 2, "nextRetryAt": "t"})
    assert removed(backing_off, job(2), job(2, deletionTimestamp="t")) == [2]
    # Kueue has suspended it, or it has not been seen yet.
    assert removed(workload({"phase": "Pending", "attempt": 2, "jobName": "one-2"}), job(2)) == []
    assert removed(workload(CHOSEN), job(1)) == []


def test_finished_jobs_are_kept_until_they_expire() -> None:
    ended = {"phase": "Succeeded", "attempt": KEPT + 2, "jobName": "one"}
    jobs = [job(number, ended="Failed") for number in range(1, KEPT + 2)]
    last = job(KEPT + 2, ended="Complete")
    assert removed(workload(ended), *jobs, last) == [1]
    assert len(removed(workload(ended | {"conditions": [EXPIRED]}), *jobs, last)) == KEPT + 2


@given(TEXT.filter(lambda text: len(text) <= 255))
def test_a_model_is_a_valid_label(model: str) -> None:
    found = words.app_label(model)
    assert words._APP.fullmatch(found)  # noqa: SLF001
    assert found == model or found != words.app_label(found + "x")


@given(st.sets(st.text("ab-/8", min_size=1, max_size=70), min_size=2))
def test_no_two_models_share_a_label(models: set[str]) -> None:
    assert len({words.app_label(model) for model in models}) == len(models)


def test_the_class_of_a_pod_and_that_of_kueue_have_the_same_value() -> None:
    assert dict(words.PRIORITIES.values()) == PRIORITIES


def test_examples_in_docstrings() -> None:
    for module in (words, ranks, job_module):
        assert doctest.testmod(module).failed == 0
