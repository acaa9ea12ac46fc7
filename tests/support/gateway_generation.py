"""Hooks of schemathesis: what no schema can say of requests that are to be accepted.

GATEWAY_KNOWN has IDs of things that are there, as JSON: made up, all would be answered with 404.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import schemathesis
from devctl_gateway.schemas.jobs import OWN
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

_MOST_OF_A_GPU = 1 << 20
_KNOWN: dict[str, str] = json.loads(os.environ.get("GATEWAY_KNOWN", "{}"))


@schemathesis.hook
def before_call(
    _context: schemathesis.HookContext, case: schemathesis.Case[Any], _kwargs: dict[str, Any]
) -> None:
    """Name what is there, unless it is a name that is to be refused, or one that was answered."""
    if case.meta is None:
        return
    negative = case.meta.is_negative_at
    if case.headers and not negative(ParameterLocation.HEADER):
        _replace(case.headers, {"idempotency-key": str(uuid4())})
    if case.query and not negative(ParameterLocation.QUERY):
        _replace(case.query, {"cursor": ""})
    known = {} if case.meta.phase.name is TestPhase.STATEFUL else _KNOWN
    if case.path_parameters and not negative(ParameterLocation.PATH):
        doomed = known.get("doomed_job_id") if case.method == "DELETE" else None
        _replace(case.path_parameters, known | ({"job_id": doomed} if doomed else {}))
    if isinstance(case.body, dict) and not negative(ParameterLocation.BODY):
        _replace(case.body, known | {"prepaid": False})  # or no job would be accepted any more
        _make_possible(case.body)


def _replace(given: MutableMapping[str, Any], known: Mapping[str, Any]) -> None:
    given.update({name: value for name, value in known.items() if name in given})


def _make_possible(job: dict[str, Any]) -> None:
    """What a job's fields have to do with each other: unit tests show that all else is refused."""
    if job.get("env"):
        named = {each["name"]: each for each in job["env"] if each["name"] not in OWN}
        job["env"] = list(named.values())
    if "gpu_memory_required" in job:
        least = 0 if job.get("gpu_count") == 0 else job["gpu_memory_required"]
        job["gpu_memory_required"] = min(least, _MOST_OF_A_GPU)
