"""Refusals of the API server: what whoever submitted a job reads."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from devctl_gateway.cluster.refusals import NAMES, refused
from devctl_gateway.errors import ClusterError, RejectedError
from devctl_gateway.schemas.jobs import NewJob, spec_of

INVALID = {
    "message": 'GPUWorkerJob.imagepod.dev "job-1" is invalid: spec.gpus: Invalid value: 9',
    "details": {
        "causes": [
            {"field": "spec.gpus", "message": "Invalid value: 9: spec.gpus is at most 8"},
            {"field": "spec.env[0].name", "message": "Required value"},
            {"field": "metadata.name", "message": "is odd"},
        ]
    },
}


def answered(status: int, **content: Any) -> ClusterError:
    return refused(httpx2.Response(status, **content))


def test_fields_have_the_names_of_a_submission() -> None:
    error = answered(422, json=INVALID)
    assert isinstance(error, RejectedError)
    assert error.message == (
        "the API server answers 422: `gpu_count`: Invalid value: 9: gpu_count is at most 8; "
        "`env[0].name`: Required value"
    )


def test_every_field_of_an_object_is_one_of_a_submission() -> None:
    asked = {"job_name": "a", "docker_image": "a", "command": ["a"], "args": ["a"], "queue": "a"}
    spec = spec_of(NewJob.model_validate(asked | {"env": [{"name": "A", "value": ""}]}), "a", "")
    assert {NAMES.get(name, name) for name in spec} - {"owner"} <= NewJob.model_fields.keys()
    assert NAMES.keys() <= spec.keys()


@pytest.mark.parametrize(
    "content",
    [
        {"text": "<html>no</html>"},
        {"json": []},
        {"json": {"details": "x"}},
        {"json": {"details": {"causes": [1]}}},
        {"json": {"details": {"causes": 7}, "message": 1}},
        {"content": b"\xff"},
    ],
    ids=str,
)
def test_rubbish_is_answered_with_its_status(content: dict[str, Any]) -> None:
    error = answered(500, **content)
    assert not isinstance(error, RejectedError)
    assert error.message == "the API server answers 500: Internal Server Error"


def test_a_refusal_without_fields_keeps_its_words_and_is_bounded() -> None:
    assert answered(403, json={"message": "no such jobs"}).message.endswith("no such jobs")
    assert len(answered(400, json={"message": "x" * 10_000}).message) < 600
