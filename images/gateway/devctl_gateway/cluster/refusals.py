"""What the API server refuses, and that it does not answer, in the words of our own API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import httpx2

from devctl_gateway.errors import ClusterError, ConflictError, GatewayError, RejectedError

WAIT = "wait, and repeat the request"
_INVALID = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
_LONGEST = 500
_MOST = 5
"""Causes that are told."""
NAMES = {
    "cpuCores": "cpu_cores_required",
    "gpuMemoryMegabytes": "gpu_memory_required",
    "gpus": "gpu_count",
    "image": "docker_image",
    "inputData": "input_data",
    "jobName": "job_name",
    "memoryMegabytes": "memory_required",
    "queueName": "queue",
    "schedulingStrategy": "scheduling_strategy",
    "timeoutSeconds": "timeout_seconds",
}
"""Fields of a submission by those of a GPUWorkerJob's spec that have other names."""
_FIELD = re.compile(r"spec\.([A-Za-z]+)(.*)")


@contextmanager
def translated() -> Iterator[None]:
    """Errors of a connection, as ours."""
    try:
        yield
    except httpx2.HTTPError as error:
        raise ClusterError(f"the API server does not answer ({error!r})", WAIT) from error


def no_log(answer: httpx2.Response) -> GatewayError:
    """Why there is no log to read."""
    if answer.status_code == HTTPStatus.NOT_FOUND:
        return ConflictError("the job's pod is gone, and its log with it", "submit the job again")
    if answer.status_code == HTTPStatus.BAD_REQUEST:
        return ConflictError("the job's program has not started yet", WAIT)
    return refused(answer)


def refused(answer: httpx2.Response) -> ClusterError:
    """An answer that is an error, as ours."""
    text = f"the API server answers {answer.status_code}: {_said(answer)[:_LONGEST]}"
    if answer.status_code in _INVALID:
        return RejectedError(text, "change what you ask for")
    return ClusterError(text, WAIT)


def submitted_field(path: str) -> str:
    """What a submission calls a field of a GPUWorkerJob; empty if it has none of it.

    >>> submitted_field("spec.gpus"), submitted_field("spec.env[0].name")
    ('gpu_count', 'env[0].name')
    """
    found = _FIELD.fullmatch(path)
    return f"{NAMES.get(found[1], found[1])}{found[2]}" if found else ""


def _said(answer: httpx2.Response) -> str:
    try:
        status = answer.json()
        causes = (status.get("details") or {}).get("causes") or []
        return "; ".join(_fields(causes)) or str(status["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer.reason_phrase


def _fields(causes: list[dict[str, str]]) -> Iterator[str]:
    """What is wrong with fields of a submission."""
    for cause in causes[:_MOST]:
        if ours := submitted_field(field := str(cause.get("field", ""))):
            yield f"`{ours}`: {str(cause.get('message', '')).replace(field, ours)}"
