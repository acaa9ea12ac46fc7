"""Which nodes a job fits on now."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from devctl_gateway.http.context import Inside
from devctl_gateway.identity.dependencies import Caller
from devctl_gateway.routes.node_answers import free_answer, prices_of
from devctl_gateway.scheduling.fit import Wanted, fitting, why_not
from devctl_gateway.scheduling.offers import offers
from devctl_gateway.scheduling.order import ordered
from devctl_gateway.schemas.nodes import AvailableNode, AvailableNodes
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import nodes
from devctl_gateway.store.engine import connect

router = APIRouter(prefix=PREFIX, tags=["nodes"])
_MEGABYTES = {"ge": 0, "le": 2**31 - 1}


@router.get("/available-nodes/")
async def list_available_nodes(  # noqa: PLR0913, PLR0917 - its parameters
    _: Caller,
    inside: Inside,
    gpu_memory_required: Annotated[int, Query(**_MEGABYTES, description="In megabytes.")] = 0,
    cpu_cores_required: Annotated[int, Query(ge=0, le=4096, description="Whole cores.")] = 0,
    memory_required: Annotated[int, Query(**_MEGABYTES, description="In megabytes.")] = 0,
    gpu_count: Annotated[
        int | None, Query(ge=0, le=8, description="1 if GPU memory is required, else 0.")
    ] = None,
    scheduling_strategy: Annotated[
        Literal["leastLoaded", "packed", "costOptimized", "random"],
        Query(description="The order."),
    ] = "leastLoaded",
) -> AvailableNodes:
    """The nodes on which a job fits now, the one that suits best first; or why there is none."""
    count = gpu_count if gpu_count is not None else int(gpu_memory_required > 0)
    each = -(-gpu_memory_required // count) if count else gpu_memory_required
    wanted = Wanted(count, each, cpu_cores_required, memory_required)
    async with connect(inside.engine) as connection:
        rows = {row["id"]: row for row in await nodes.everything(connection)}
    found = offers(
        rows.values(),
        inside.cluster.nodes,
        inside.cluster.requested,
        now=inside.clock(),
        every=inside.settings.heartbeat_seconds,
    )
    fit = ordered(fitting(wanted, found), scheduling_strategy, wanted)
    return AvailableNodes(
        items=[
            AvailableNode(
                id=offer.node_id,
                node_name=offer.node_name,
                gpu_type=offer.gpu_type,
                gpu_memory_total=offer.gpu_memory,
                free=free_answer(offer),
                **prices_of(rows[offer.node_id]),
            )
            for offer in fit
        ],
        reason="" if fit else why_not(wanted, found),
    )
