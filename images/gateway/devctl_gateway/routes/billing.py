"""What jobs cost, what accounts have left, and their invoices."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl.api.prices import parse_amount, write_amount
from devctl_gateway.billing import invoices
from devctl_gateway.billing.balance import balance_of, open_charges
from devctl_gateway.billing.charges import Charge, Held
from devctl_gateway.errors import NotFoundError
from devctl_gateway.http.accepted import preferred
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.idempotency import Answer, Idempotent
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.identity.dependencies import Caller, require
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.routes.access import account_of, job_of
from devctl_gateway.schemas.billing import (
    AccountBalance,
    Cost,
    CostLine,
    InvoiceAnswer,
    InvoiceLine,
    LedgerEntry,
    NewCredit,
)
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import accounts, ledger
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.ids import new_id

router = APIRouter(prefix=PREFIX)
_NOW, _BOOKS = "costs", "billing"
"""Tags: of what also asks the cluster, and of what only reads and writes the ledger."""
_FORMATS = {"application/json": "json", "text/csv": "csv"}
_Admin = Annotated[Principal, Depends(require(Role.ADMIN))]


@router.get("/jobs/{job_id}/cost", tags=[_NOW])
async def get_job_cost(
    job_id: Annotated[Id, Path(description="The job's ID.")], caller: Caller, inside: Inside
) -> Cost:
    """What a job costs: until now while it runs, for good once all its runs are charged."""
    async with connect(inside.engine) as connection:
        job = await job_of(inside, connection, caller, job_id)
        lines = await ledger.of_job(connection, job_id)
        final = job["settled_at"] is not None
        held = Held.of(job["spec"])
        now, known = inside.clock(), inside.cluster.jobs
        more = [] if final else await open_charges(connection, known.get(job_id), held, now)
    charged = [
        Charge(line["kind"], line["quantity"], line["price"], -line["amount"]) for line in lines
    ]
    return Cost(
        job_id=job_id,
        currency=inside.settings.currency,
        amount=write_amount(sum(line.amount for line in (*charged, *more))),
        final=final,
        lines=[
            CostLine(
                kind=line.kind,
                quantity=line.quantity,
                price=write_amount(line.price),
                amount=write_amount(line.amount),
            )
            for line in (*charged, *more)
        ],
    )


@router.get("/accounts/me/balance", tags=[_NOW])
async def get_balance(caller: Caller, inside: Inside) -> AccountBalance:
    """What the caller's account has left."""
    account = account_of(caller)
    async with connect(inside.engine) as connection:
        found = await balance_of(connection, account, inside.cluster.jobs, inside.clock())
    return AccountBalance(
        currency=inside.settings.currency,
        settled=write_amount(found.settled),
        open=write_amount(found.open),
        left=write_amount(found.left),
    )


@router.get("/accounts/me/ledger", tags=[_BOOKS])
async def list_ledger_entries(caller: Caller, inside: Inside, page: Page) -> PageOf[LedgerEntry]:
    """The charges and credits of the caller's account, the latest first."""
    account, after = account_of(caller), page.after(int)
    async with connect(inside.engine) as connection:
        rows = await ledger.page(
            connection, account, before=after[0] if after else None, limit=page.limit + 1
        )
    return PageOf[LedgerEntry](
        items=[_entry(row) for row in rows[: page.limit]],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["id"],)),
    )


@router.get(
    "/invoices/{month}",
    tags=[_BOOKS],
    response_model=InvoiceAnswer,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def get_invoice(  # noqa: PLR0913, PLR0917 - its parameters
    month: Annotated[
        str, Path(pattern="^20[0-9]{2}-(0[1-9]|1[0-2])$", description="Such as 2026-05.")
    ],
    caller: Caller,
    request: Request,
    inside: Inside,
    account: Annotated[Id | None, Query(description="Another account; admins only.")] = None,
    format: Annotated[  # noqa: A002 - the API's word
        Literal["json", "csv"] | None,
        Query(description="Of the answer; without it, what the header Accept likes better."),
    ] = None,
) -> Response | InvoiceAnswer:
    """An account's month: what each job has held, and what that costs."""
    if account and account != caller.account_id and Role.ADMIN not in caller.roles:
        raise NotFoundError(f"there is no account `{account}`")
    whose = account or account_of(caller)
    year, number = month.split("-")
    async with connect(inside.engine) as connection:
        if account:
            await _known(connection, account)
        entries = await ledger.between(
            connection, whose, *invoices.month_of(int(year), int(number))
        )
    found, currency = invoices.invoice(map(dict, entries)), inside.settings.currency
    if (format or preferred(request.headers.get("accept", ""), _FORMATS)) == "csv":
        return Response(invoices.to_csv(found, currency), media_type="text/csv")
    return InvoiceAnswer(
        account_id=whose,
        month=month,
        currency=currency,
        lines=[
            InvoiceLine(
                job_id=line.job_id,
                kind=line.kind,
                quantity=line.quantity,
                price=write_amount(line.price),
                amount=write_amount(line.amount),
            )
            for line in found.lines
        ],
        charged=write_amount(found.charged),
        credited=write_amount(found.credited),
    )


@router.post(
    "/accounts/{account_id}/credit",
    tags=[_BOOKS],
    status_code=HTTPStatus.CREATED,
    response_model=LedgerEntry,
)
async def give_credit(
    account_id: Annotated[Id, Path(description="The account's ID.")],
    new: NewCredit,
    caller: _Admin,
    attempt: Idempotent,
) -> Response:
    """Give an account credit."""
    now, reference = attempt.context.clock(), new_id("credit")
    amount = parse_amount(new.amount)
    async with begin(attempt.context.engine) as connection:
        if earlier := await attempt.earlier(connection, caller.id):
            return earlier
        await _known(connection, account_id)
        await ledger.credit(
            connection,
            account_id=account_id,
            reference=reference,
            at=now,
            amount=amount,
            note=new.note,
        )
        entry = _entry(await ledger.get(connection, ledger.CREDIT, reference))
        details = {"amount": new.amount}
        await record(
            connection, attempt.request, caller.id, "account.credit", account_id, **details
        )
        return await attempt.answer(connection, caller.id, Answer(entry))


def _entry(row: RowMapping) -> LedgerEntry:
    money = {name: write_amount(row[name]) for name in ("price", "amount")}
    return LedgerEntry(**{**row, **money})


async def _known(connection: AsyncConnection, account_id: str) -> None:
    if await accounts.get(connection, account_id) is None:
        raise NotFoundError(f"there is no account `{account_id}`")
