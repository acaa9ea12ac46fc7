"""The agents of nodes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Request

from devctl_gateway.errors import NotFoundError
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.identity.dependencies import Caller, NodeCaller
from devctl_gateway.schemas.nodes import Agent, NewAgent
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import nodes
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.ids import new_id
from devctl_gateway.store.rows import Row

router = APIRouter(prefix=f"{PREFIX}/agents", tags=["agents"])


@router.post("/register", status_code=HTTPStatus.CREATED)
async def register_agent(
    request: Request, new: NewAgent, caller: NodeCaller, inside: Inside
) -> Agent:
    """Note which agent a node has, with the node's key. It keeps its ID."""
    if caller.node_id != new.node_id:
        raise NotFoundError(f"there is no node `{new.node_id}` of yours", "use the node's own key")
    async with begin(inside.engine) as connection:
        agent_id = await nodes.set_agent(
            connection, new_id("agent"), new.node_id, new.agent_version, inside.clock()
        )
        await record(connection, request, caller.id, "agent.register", agent_id)
        row = await nodes.agent(connection, agent_id)
    return _agent(row, agent_id)


@router.get("/{agent_id}")
async def get_agent(
    agent_id: Annotated[Id, Path(description="The agent's ID.")], caller: Caller, inside: Inside
) -> Agent:
    """An agent; to a node, its own."""
    async with connect(inside.engine) as connection:
        row = await nodes.agent(connection, agent_id)
    if row is not None and caller.node_id not in {"", row["node_id"]}:
        row = None
    return _agent(row, agent_id)


def _agent(row: Row | None, agent_id: str) -> Agent:
    if row is None:
        raise NotFoundError(f"there is no agent `{agent_id}`", "`GET nodes/` lists nodes")
    return Agent(**row, agent_id=row["id"], last_heartbeat=row["heartbeat_at"])
