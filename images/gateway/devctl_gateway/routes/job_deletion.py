"""The end of a job's record, as its owner sees it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Request

from devctl_gateway.cluster.objects import is_over
from devctl_gateway.context import Context
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.etags import check_unchanged
from devctl_gateway.identity.dependencies import Caller
from devctl_gateway.identity.principal import Principal
from devctl_gateway.routes.access import job_of
from devctl_gateway.routes.job_answers import cost_of, job_answers
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import jobs
from devctl_gateway.store.engine import begin, connect

router = APIRouter(prefix=f"{PREFIX}/jobs", tags=["jobs"])
_JobId = Annotated[Id, Path(description="The job's ID.")]


@router.delete("/{job_id}", status_code=HTTPStatus.NO_CONTENT)
async def delete_job(request: Request, job_id: _JobId, caller: Caller, inside: Inside) -> None:
    """Cancel a job if it runs or waits, and show it no more once it has ended.

    What it has cost stays in the ledger and in invoices. Repeating it changes nothing.
    """
    if "if-match" in request.headers:
        await _check(request, job_id, caller, inside)
    async with begin(inside.engine) as connection:
        row = await job_of(inside, connection, caller, job_id, deleted=True)
        now = inside.clock()
        if await jobs.delete(connection, job_id, now):
            if not is_over(inside.cluster.jobs.get(job_id), row["final"]):
                await jobs.cancel(connection, job_id, now)
            await record(connection, request, caller.id, "job.delete", job_id)
    inside.submitted.add(job_id)


async def _check(request: Request, job_id: str, caller: Principal, inside: Context) -> None:
    """Refuse the deletion of a job that is not what the client has seen.

    Before the transaction, as it may ask the cluster, whose changes no transaction keeps out.
    """
    async with connect(inside.engine) as connection:
        row = await job_of(inside, connection, caller, job_id)
        cost = await cost_of(inside, connection, row)
    (found,) = await job_answers(inside, [row], cost)
    check_unchanged(request, found)
