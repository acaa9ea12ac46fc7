"""Whatever a job's fields contain, the manifests are the same, with it as plain text."""

from __future__ import annotations

import json
from functools import cache

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plugins.jobs import job, names
from unit.plugins.templates import (
    CONFINED_CONTAINER,
    CONFINED_POD,
    HOSTILE,
    TEXT,
    Thing,
    put,
    rendered,
)

ENVIRONMENT = ("model", "input", "output", "weights", "labels")
"""The kubelet expands these, and reads two dollar signs as one."""
FIELDS = (
    *ENVIRONMENT,
    *("image", "command", "argument", "cpu", "memory", "pvcSize", "storageClass", "finishedAt"),
)


def hostile(values: dict[str, str]) -> Thing:
    """A job with a text in each field that accepts one."""
    plain: Thing = {name: values[name] for name in ("model", "image", "pvcSize", "storageClass")}
    return job(
        **plain,
        input={"type": "image", "path": values["input"], "waitSeconds": 1},
        output={"path": values["output"]},
        weights={"path": values["weights"], "labelsPath": values["labels"]},
        resources={"gpu": 1, "cpu": values["cpu"], "memory": values["memory"]},
        command=[values["command"], values["argument"]],
        activeDeadlineSeconds=60,
    )


def manifests(wanted: Thing) -> list[Thing]:
    """The manifests for values."""
    return rendered("ephemeral_acceleration_job", wanted)


def render(values: dict[str, str]) -> list[Thing]:
    """The manifests of a job with these texts, and of one whose `finishedAt` is a text."""
    wanted = names(hostile(values))
    wanted["claim"]["annotations"]["gpu.yourdomain.io/finished-at"] = values["finishedAt"]
    # A digest of the texts, which differs for each of them.
    wanted["pod"]["annotations"]["gpu.yourdomain.io/made-from"] = "digest"
    return manifests(wanted)


@cache
def plain() -> str:
    """The manifests of a job with placeholders as texts."""
    return json.dumps(render({name: f"plain-{name}" for name in FIELDS}))


def check(values: dict[str, str]) -> None:
    texts = {f"plain-{name}": value for name, value in values.items()}
    texts |= {f"plain-{name}": values[name].replace("$", "$$") for name in ENVIRONMENT}
    assert render(values) == put(json.loads(plain()), texts)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_text(text: str) -> None:
    check(dict.fromkeys(FIELDS, text))


@settings(deadline=None, max_examples=25)
@given(st.fixed_dictionaries(dict.fromkeys(FIELDS, TEXT)))
def test_any_text_stays_text(values: dict[str, str]) -> None:
    check(values)


def test_no_value_is_rendered_as_a_template_again() -> None:
    made = yaml.safe_dump(render(dict.fromkeys(FIELDS, "{{ 6 * 7 }}")))

    assert "42" not in made
    assert "{{ 6 * 7 }}" in made


def test_nothing_is_rendered_where_nothing_is_to_be_applied() -> None:
    assert manifests({"claim": None, "pod": None}) == []


def test_a_pod_is_confined_and_made_once() -> None:
    _, pod = manifests(names(job()))
    spec, (container,) = pod["spec"], pod["spec"]["containers"]

    assert pod["metadata"]["labels"] == {"app": "gpu-job"}
    assert pod["metadata"]["annotations"]["devops.yourcompany.com/create-only"] == "true"
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert spec["terminationGracePeriodSeconds"] == 10
    assert spec["securityContext"] == CONFINED_POD
    assert container["securityContext"] == CONFINED_CONTAINER
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert {m["name"]: m["mountPath"] for m in container["volumeMounts"]} == {
        "artifacts": "/artifacts",
        "tmp": "/tmp",  # noqa: S108 - in the container
    }
    assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "artifacts-scan"}
    assert spec["volumes"][1]["emptyDir"]["sizeLimit"]


def test_what_the_image_decides_is_left_to_it() -> None:
    _, pod = manifests(names(job()))

    assert not {"command", "args", "workingDir"} & pod["spec"]["containers"][0].keys()
    assert "activeDeadlineSeconds" not in pod["spec"]


def test_a_command_takes_the_programs_place_beside_the_files() -> None:
    wanted = job(command=["sh", "-c", "cat $(INPUT_PATH)"], activeDeadlineSeconds=9)
    _, pod = manifests(names(wanted))
    (container,) = pod["spec"]["containers"]

    # Here `$(NAME)` is intended: it refers to a variable of the job's environment.
    assert container["command"] == ["sh", "-c", "cat $(INPUT_PATH)"]
    assert container["workingDir"] == "/artifacts"
    assert pod["spec"]["activeDeadlineSeconds"] == 9


def test_a_claim_without_a_class_leaves_it_to_the_cluster() -> None:
    (claim,) = manifests(names(job(suspend=True)))

    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
