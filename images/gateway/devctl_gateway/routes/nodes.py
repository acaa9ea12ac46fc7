"""Nodes: registration, heartbeats, statistics, maintenance and prices."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl.api.gpu_worker_job import ENDED, Phase
from devctl.api.gpu_worker_node import State
from devctl.api.prices import parse_amount
from devctl_gateway.context import Context
from devctl_gateway.errors import ConflictError, NotFoundError
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.etags import answer, changed, check_unchanged
from devctl_gateway.http.idempotency import Answer, Idempotent
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.identity.dependencies import Caller, NodeCaller, Registrar, require
from devctl_gateway.identity.keys import issue
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.identity.registrar import Registration
from devctl_gateway.routes.node_answers import free_answer, node_answer, node_fields, offer_of
from devctl_gateway.schemas.nodes import (
    Heard,
    Heartbeat,
    NewNode,
    Node,
    NodeChange,
    NodeStats,
    RegisteredNode,
    reported_of,
)
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Id, Line
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import keys, nodes, prices
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.ids import new_id
from devctl_gateway.store.keys import Owner

router = APIRouter(prefix=f"{PREFIX}/nodes", tags=["nodes"])
_Operator = Annotated[Principal, Depends(require(Role.OPERATOR))]
_NodeId = Annotated[Id, Path(description="The node's ID.")]
_PRICES = {
    "price_per_gpu_hour": "gpu_hour",
    "price_per_cpu_hour": "core_hour",
    "price_per_memory_gb_hour": "gigabyte_hour",
}


@router.post("/register", status_code=HTTPStatus.CREATED, response_model=RegisteredNode)
async def register_node(new: NewNode, registration: Registrar, attempt: Idempotent) -> Response:
    """Register a node, with a registration token, its service account, or the role `operator`.

    A node that registers again gets a new key, and its old ones end. Its ID, prices and maintenance
    stay.
    """
    context = attempt.context
    now = context.clock()
    if registration.node_name not in {None, new.node_name}:
        raise ConflictError(
            f"this token is of node `{registration.node_name}`, not of `{new.node_name}`",
            "register the node that the agent runs on",
        )
    async with begin(context.engine) as connection:
        if earlier := await attempt.earlier(connection, registration.by):
            return earlier
        await registration.spend(connection, now)
        node_id = await _registered(connection, new, registration, context)
        await keys.revoke_of_node(connection, node_id, now)
        made = await issue(connection, Owner(node_id=node_id), name="agent", now=now)
        details = {"node_name": new.node_name}
        await record(
            connection, attempt.request, registration.by, "node.register", node_id, **details
        )
        row = await _node(connection, node_id)
        shown = RegisteredNode(
            **node_fields(context, row),
            node_id=node_id,
            api_key=made.text,
            heartbeat_seconds=context.settings.heartbeat_seconds,
        )
        done = Answer(shown, shown_once="api_key")
        return await attempt.answer(connection, registration.by, done)


async def _registered(
    connection: AsyncConnection, new: NewNode, registration: Registration, context: Context
) -> str:
    """The ID of a node that is registered now, or is again.

    Raises:
        ConflictError: A node of that name is there, and who registers may not speak for it.
    """
    facts = new.model_dump()
    row = {**facts, "id": new_id("gpu"), "registered_at": context.clock(), "reported": {}}
    row |= {"maintenance": False, "version": 1}
    if await nodes.add(connection, row):
        return str(row["id"])
    known = await nodes.named(connection, new.node_name)
    if known is None or registration.token_id:
        raise ConflictError(
            f"a node of the name `{new.node_name}` is registered already",
            "an operator can register it again, or delete it",
        )
    await nodes.change(connection, known["id"], **facts)
    return str(known["id"])


@router.get("/")
async def list_nodes(
    caller: Caller,
    inside: Inside,
    page: Page,
    state: Annotated[State | None, Query(description="Only those in this state.")] = None,
    gpu_type: Annotated[Line | None, Query(description="Only those with such GPUs.")] = None,
) -> PageOf[Node]:
    """Registered nodes, the newest first; to a node, itself.

    The state is computed, so a page may have fewer nodes than its limit, and yet a next one.
    """
    async with connect(inside.engine) as connection:
        rows = await nodes.page(
            connection, gpu_type=gpu_type, after=page.after_time(), limit=page.limit + 1
        )
    shown = [row for row in rows[: page.limit] if caller.node_id in {"", row["id"]}]
    items = [node_answer(inside, row) for row in shown]
    return PageOf[Node](
        items=[item for item in items if state in {None, item.state}],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["registered_at"], row["id"])),
    )


@router.get("/{node_id}", response_model=Node)
async def get_node(request: Request, node_id: _NodeId, caller: Caller, inside: Inside) -> Response:
    """A node."""
    async with connect(inside.engine) as connection:
        row = await _visible(connection, caller, node_id)
    return answer(request, node_answer(inside, row))


@router.post("/{node_id}/heartbeat")
async def report_heartbeat(
    node_id: _NodeId, report: Heartbeat, caller: NodeCaller, inside: Inside
) -> Heard:
    """What a node's agent reports. A node reports for itself alone."""
    if caller.node_id != node_id or report.node_id != node_id:
        raise NotFoundError(f"there is no node `{node_id}` of yours", "use the node's own key")
    reported = report.model_dump(exclude={"node_id"})
    async with begin(inside.engine) as connection:
        await nodes.hear(connection, node_id, inside.clock(), report.health_status, reported)
        row = await _node(connection, node_id)
    every = inside.settings.heartbeat_seconds
    return Heard(node_id=node_id, state=node_answer(inside, row).state, heartbeat_seconds=every)


@router.get("/{node_id}/stats")
async def get_node_stats(node_id: _NodeId, caller: Caller, inside: Inside) -> NodeStats:
    """What a node does now, as the cluster sees it, and what its agent reports."""
    async with connect(inside.engine) as connection:
        row = await _visible(connection, caller, node_id)
    offer = offer_of(inside, row)
    phases = Counter(
        str(job.get("status", {}).get("phase", "")).lower()
        for job in inside.cluster.jobs.values()
        if job.get("status", {}).get("node") == row["node_name"]
    )
    return NodeStats(
        node_id=node_id,
        state=offer.state,
        jobs=dict(phases),
        free=free_answer(offer),
        reported=reported_of(row),
        last_heartbeat=row["heartbeat_at"],
    )


@router.patch("/{node_id}", response_model=Node)
async def change_node(
    request: Request, node_id: _NodeId, change: NodeChange, caller: _Operator, inside: Inside
) -> Response:
    """Set a node aside for maintenance, or change its prices and how many jobs it takes at once.

    A price is for what begins from now on.
    """
    given = change.model_dump(exclude_none=True)
    fields = {name: given[name] for name in ("maintenance", "max_concurrent_jobs") if name in given}
    async with begin(inside.engine) as connection:
        row = await _node(connection, node_id)
        check_unchanged(request, node_answer(inside, row))
        await nodes.change(connection, node_id, **fields)
        if given.keys() & _PRICES.keys():
            amounts = {
                column: parse_amount(given[name]) if name in given else row[column] or 0
                for name, column in _PRICES.items()
            }
            await prices.add(
                connection,
                node_id=node_id,
                valid_from=inside.clock(),
                set_by=caller.account_id,
                **amounts,
            )
        await record(connection, request, caller.id, "node.change", node_id, **given)
        row = await _node(connection, node_id)
    return changed(node_answer(inside, row))


@router.delete("/{node_id}", status_code=HTTPStatus.NO_CONTENT)
async def retire_node(
    request: Request, node_id: _NodeId, caller: _Operator, inside: Inside
) -> None:
    """End a node's keys and set it aside for good; it stays in the books. It may register again.

    A node on which jobs run is refused.
    """
    async with begin(inside.engine) as connection:
        row = await _node(connection, node_id)
        if _is_busy(inside, row["node_name"]):
            raise ConflictError(
                f"jobs run on node `{row['node_name']}`",
                "set `maintenance`, and wait until they have ended",
            )
        await keys.revoke_of_node(connection, node_id, inside.clock())
        await nodes.change(connection, node_id, maintenance=True)
        await record(connection, request, caller.id, "node.retire", node_id)


def _is_busy(context: Context, node_name: str) -> bool:
    found = (job.get("status", {}) for job in context.cluster.jobs.values())
    return any(
        status.get("node") == node_name and Phase(status.get("phase", Phase.PENDING)) not in ENDED
        for status in found
    )


async def _visible(connection: AsyncConnection, caller: Principal, node_id: str) -> RowMapping:
    """A node, unless another node asks."""
    if caller.node_id not in {"", node_id}:
        raise NotFoundError(f"there is no node `{node_id}` of yours", "use the node's own key")
    return await _node(connection, node_id)


async def _node(connection: AsyncConnection, node_id: str) -> RowMapping:
    row = await nodes.get(connection, node_id)
    if row is None:
        raise NotFoundError(f"there is no node `{node_id}`", "`GET nodes/` lists them")
    return row
