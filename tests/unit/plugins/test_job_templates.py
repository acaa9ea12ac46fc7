"""Whatever a job's fields hold, the templates give the same manifests, with it as plain text."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.plugins import loader
from ansible.template import Templar, trust_as_template
from apply.manifests import parse
from ephemeral_acceleration_job.values import ephemeral_acceleration_job_values
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plugins.jobs import Thing, job

from devctl.local.paths import REPOSITORY

ROLE = REPOSITORY / "roles/ephemeral_acceleration_job"
# What YAML cannot hold at all is refused by the API server before any role sees it.
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"), min_size=1
)
HOSTILE = [
    "a\nprivileged: true",
    "{{ lookup('pipe', 'id') }}",
    "{% for a in b %}",
    "---\n- x",
    "!!python/object",
    "*alias &anchor",
    "'\"\\",
    "null",
    "0x10",
    "a: b # c",
    "{# comment #}",
    "\u2028\u0085",
    "🙂",
    "$(MODEL) $$(MODEL)",
]
ENVIRONMENT = ("model", "input", "output", "weights", "labels")
"""The kubelet reads these, and two dollars as one."""
FIELDS = (
    *ENVIRONMENT,
    *("image", "command", "argument", "cpu", "memory", "pvcSize", "storageClass", "finishedAt"),
)


def hostile(values: dict[str, str]) -> Thing:
    """A job with a text in each field that may hold one."""
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


@pytest.fixture(scope="module", autouse=True)
def _plugins() -> None:
    if not loader.AnsibleCollectionConfig.collection_finder:
        loader.init_plugin_loader()


def rendered(wanted: Thing) -> list[Thing]:
    """The manifests of every template, as the role's one task has them rendered."""
    variables = {"__ephemeral_acceleration_job_values": wanted}
    made = []
    templar = Templar(loader=DataLoader(), variables=variables)
    for path in sorted((ROLE / "templates").iterdir()):
        text = templar.template(
            trust_as_template(path.read_text()), overrides={"trim_blocks": True}
        )
        made += parse(path.name, text or "")
    return made


def render(values: dict[str, str]) -> list[Thing]:
    """The manifests of a job of these texts, and of one whose time of finishing is a text."""
    wanted = ephemeral_acceleration_job_values(hostile(values), [], [])
    wanted["claim"]["annotations"]["gpu.yourdomain.io/finished-at"] = values["finishedAt"]
    # A digest of the texts, and as such different for each of them.
    wanted["pod"]["annotations"]["gpu.yourdomain.io/made-from"] = "digest"
    return rendered(wanted)


def put(thing: Any, names: dict[str, str]) -> Any:
    """A thing with each text that is a placeholder replaced."""
    if isinstance(thing, dict):
        return {key: put(value, names) for key, value in thing.items()}
    if isinstance(thing, list):
        return [put(value, names) for value in thing]
    return names.get(thing, thing) if isinstance(thing, str) else thing


@cache
def plain() -> str:
    """The manifests of a job whose texts are placeholders."""
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
    assert rendered({"claim": None, "pod": None}) == []


def test_a_pod_is_confined_and_made_once() -> None:
    _, pod = rendered(ephemeral_acceleration_job_values(job(), [], []))
    spec, (container,) = pod["spec"], pod["spec"]["containers"]

    assert pod["metadata"]["labels"] == {"app": "gpu-job"}
    assert pod["metadata"]["annotations"]["devops.yourcompany.com/create-only"] == "true"
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert spec["terminationGracePeriodSeconds"] == 10
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert {m["name"]: m["mountPath"] for m in container["volumeMounts"]} == {
        "artifacts": "/artifacts",
        "tmp": "/tmp",  # noqa: S108 - in the container
    }
    assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "artifacts-scan"}
    assert spec["volumes"][1]["emptyDir"]["sizeLimit"]


def test_what_the_image_decides_is_left_to_it() -> None:
    _, pod = rendered(ephemeral_acceleration_job_values(job(), [], []))

    assert not {"command", "args", "workingDir"} & pod["spec"]["containers"][0].keys()
    assert "activeDeadlineSeconds" not in pod["spec"]


def test_a_command_takes_the_programs_place_beside_the_files() -> None:
    wanted = job(command=["sh", "-c", "cat $(INPUT_PATH)"], activeDeadlineSeconds=9)
    _, pod = rendered(ephemeral_acceleration_job_values(wanted, [], []))
    (container,) = pod["spec"]["containers"]

    # Here `$(NAME)` is meant: it stands for a variable of the job's environment.
    assert container["command"] == ["sh", "-c", "cat $(INPUT_PATH)"]
    assert container["workingDir"] == "/artifacts"
    assert pod["spec"]["activeDeadlineSeconds"] == 9


def test_a_claim_without_a_class_leaves_it_to_the_cluster() -> None:
    (claim,) = rendered(ephemeral_acceleration_job_values(job(suspend=True), [], []))

    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
