"""Jobs: submitted, followed, cancelled."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, cast

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl.api.gpu_worker_job import Phase
from devctl_gateway.billing.balance import balance_of
from devctl_gateway.cluster.objects import OVER, node_of, told
from devctl_gateway.context import Context
from devctl_gateway.errors import ConflictError, InvalidError, NotFoundError
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.etags import answer
from devctl_gateway.http.idempotency import Answer, Idempotent
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.http.problems import Problem
from devctl_gateway.identity.dependencies import Caller, NodeCaller
from devctl_gateway.identity.principal import Role
from devctl_gateway.routes.access import account_of, is_gone, job_of
from devctl_gateway.routes.job_answers import cost_of, job_answer, job_answers
from devctl_gateway.schemas.jobs import Job, NewJob, State, StatusReport, spec_of
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Id, Line
from devctl_gateway.schemas.times import Moment
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import accounts, jobs
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.ids import new_id

router = APIRouter(prefix=f"{PREFIX}/jobs", tags=["jobs"])
_JobId = Annotated[Id, Path(description="The job's ID.")]
_ORDER = [phase.lower() for phase in (Phase.PENDING, Phase.SCHEDULED, Phase.RUNNING)]
"""States in which reports follow each other; one of an end is last."""


@router.post("/", status_code=HTTPStatus.CREATED, response_model=Job)
async def submit_job(new: NewJob, caller: Caller, attempt: Idempotent) -> Response:
    """Submit a job. It is on record when this answers, and in the cluster a moment later."""
    context, account = attempt.context, account_of(caller)
    try:
        settings = context.settings
        spec = spec_of(new, account, settings.queue, settings.artifacts_claim)
    except ValueError as error:
        raise InvalidError(str(error)) from None
    job_id = new_id("job")
    async with begin(context.engine) as connection:
        if earlier := await attempt.earlier(connection, caller.id):
            return earlier
        await _check_credit(context, connection, account)
        row = await jobs.add(
            connection,
            job_id=job_id,
            account_id=account,
            job_name=new.job_name,
            spec=spec,
            gpu_memory=new.gpu_memory_required,
            now=context.clock(),
        )
        await record(connection, attempt.request, caller.id, "job.submit", job_id)
        shown = job_answer(context, row, {}, 0)
        where = {"Location": f"{PREFIX}/jobs/{job_id}"}
        answered = await attempt.answer(connection, caller.id, Answer(shown, headers=where))
    context.submitted.add(job_id)
    return answered


@router.get("/")
async def list_jobs(  # noqa: PLR0913, PLR0917 - its parameters
    caller: Caller,
    inside: Inside,
    page: Page,
    state: Annotated[State | None, Query(description="Only those in this state.")] = None,
    job_name: Annotated[Line | None, Query(description="Only those of this name.")] = None,
    created_from: Annotated[Moment | None, Query(description="Only those from then on.")] = None,
    created_before: Annotated[Moment | None, Query(description="Only those before.")] = None,
    node_id: Annotated[Id | None, Query(description="Only those that are or were there.")] = None,
    account: Annotated[Id | None, Query(description="Of another account; admins only.")] = None,
) -> PageOf[Job]:
    """The caller's jobs, the newest first.

    State and node are the cluster's, so a page may have fewer jobs than its limit, and yet a next
    one.
    """
    whose = account_of(caller)
    if account and account != whose and Role.ADMIN not in caller.roles:
        raise NotFoundError(f"there is no account `{account}`")
    async with connect(inside.engine) as connection:
        rows = await jobs.page(
            connection,
            jobs.Wanted(account or whose, job_name, created_from, created_before),
            after=page.after_time(),
            limit=page.limit + 1,
        )
    there = [row for row in rows[: page.limit] if not is_gone(inside, row)]
    return PageOf[Job](
        items=[
            item
            for item in await job_answers(inside, there)
            if state in {None, item.state} and node_id in {None, item.node_id}
        ],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["created_at"], row["id"])),
    )


@router.get("/{job_id}", response_model=Job)
async def get_job(request: Request, job_id: _JobId, caller: Caller, inside: Inside) -> Response:
    """A job."""
    async with connect(inside.engine) as connection:
        row = await job_of(inside, connection, caller, job_id)
        cost = await cost_of(inside, connection, row)
    (found,) = await job_answers(inside, [row], cost)
    return answer(request, found)


@router.post("/{job_id}/cancel", status_code=HTTPStatus.ACCEPTED)
async def cancel_job(request: Request, job_id: _JobId, caller: Caller, inside: Inside) -> Job:
    """End a job, whether it runs or waits. Repeating it changes nothing."""
    async with begin(inside.engine) as connection:
        row = await job_of(inside, connection, caller, job_id)
        state = told(inside.cluster.jobs.get(job_id), row["final"])["state"]
        if state in OVER and row["cancelled_at"] is None:
            raise ConflictError(f"the job has ended: it is {state}")
        if row["cancelled_at"] is None:
            await jobs.cancel(connection, job_id, inside.clock())
            await record(connection, request, caller.id, "job.cancel", job_id)
        row = await job_of(inside, connection, caller, job_id)
    inside.submitted.add(job_id)
    (found,) = await job_answers(inside, [row])
    return found


@router.post("/{job_id}/status")
async def report_job_status(
    request: Request, job_id: _JobId, report: StatusReport, caller: NodeCaller, inside: Inside
) -> Job:
    """What the agent of a job's node says of it. It is shown; neither state nor bill follow it."""
    async with begin(inside.engine) as connection:
        row = await jobs.get(connection, job_id)
        theirs = row and caller.node_id and not is_gone(inside, row)
        node = node_of(inside.cluster.jobs.get(job_id), row["final"]) if row else ""
        if row is None or not theirs or node != caller.name:
            raise NotFoundError(f"there is no job `{job_id}` on a node of yours")
        known = (row["reported"] or {}).get("status")
        if _is_older(report.status, known):
            raise ConflictError(f"`{known}` was reported before")
        said = report.model_dump(exclude_none=True)
        await jobs.report(connection, job_id, said)
        if report.status != known:  # or an agent's reports would be most of the log
            await record(connection, request, caller.id, "job.report", job_id, status=report.status)
        row = await jobs.get(connection, job_id)
    (found,) = await job_answers(inside, [cast("RowMapping", row)])
    return found


def _is_older(new: str, known: str | None) -> bool:
    """Whether a state comes before one that was reported; an end is the last one."""
    if known is None:
        return False
    if known in OVER:
        return new != known
    return new not in OVER and _ORDER.index(new) < _ORDER.index(known)


async def _check_credit(context: Context, connection: AsyncConnection, account: str) -> None:
    row = await accounts.get(connection, account)
    if row is None or not row["prepaid"]:
        return
    left = await balance_of(connection, account, context.cluster.jobs, context.clock())
    if left.left <= 0:
        raise Problem(
            HTTPStatus.PAYMENT_REQUIRED,
            "No credit left",
            "the account has no credit left: ask an administrator for more",
        )
