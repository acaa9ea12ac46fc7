"""Jobs as answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from devctl.api.prices import write_amount
from devctl_gateway.billing.balance import open_cost
from devctl_gateway.billing.charges import Held
from devctl_gateway.cluster.objects import told
from devctl_gateway.context import Context
from devctl_gateway.scheduling.waiting import in_queue, waits_for_room
from devctl_gateway.scheduling.waiting import places as places_for_room
from devctl_gateway.schemas.jobs import Job, Variable, image_parts
from devctl_gateway.store import jobs, nodes
from devctl_gateway.store.engine import connect
from devctl_gateway.store.rows import Row


@dataclass(frozen=True)
class Surroundings:
    """What answers say besides a job's own row and object."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    """The IDs of nodes by their names in the cluster."""
    places: Mapping[str, int] = field(default_factory=dict)
    """The places of jobs that wait, by their IDs: 1 is next."""


NOWHERE = Surroundings()
"""Of a job that is new: it has no node, and its turn is not known yet."""


async def surroundings(context: Context, rows: Sequence[Row]) -> Surroundings:
    """What the answers of some jobs say besides.

    It may ask the cluster, so no transaction that writes is open meanwhile.
    """
    known = context.cluster.jobs
    shown = [known[row["id"]] for row in rows if row["id"] in known]
    places: dict[str, int] = {}
    there = {told(known.get(row["id"]), row["final"])["node"] or "" for row in rows} - {""}
    if there - context.node_ids.keys():
        async with connect(context.engine) as connection:
            context.node_ids.update(await nodes.ids(connection))
    if any(waits_for_room(job) for job in shown):
        async with connect(context.engine) as connection:
            places |= places_for_room(known, await jobs.created(connection))
    for queue in {queue for job in shown if (queue := in_queue(job))}:
        places |= await context.cluster.queues.places(queue)
    return Surroundings(context.node_ids, places)


async def job_answers(context: Context, rows: Sequence[Row], cost: int | None = None) -> list[Job]:
    """Jobs, with where they are and when it is their turn."""
    around = await surroundings(context, rows)
    return [job_answer(context, row, around, cost) for row in rows]


def job_answer(context: Context, row: Row, around: Surroundings, cost: int | None = None) -> Job:
    """A job.

    Args:
        context: Of the process.
        row: Its submission.
        around: What it says besides.
        cost: In micro-units; None if it is not asked for.
    """
    spec, job = row["spec"], context.cluster.jobs.get(row["id"])
    repository, tag = image_parts(spec["image"])
    state = told(job, row["final"])
    waits = job is not None and bool(in_queue(job) or waits_for_room(job))
    each, asked = spec["gpuMemoryMegabytes"], row["gpu_memory_required"]
    return Job(
        job_id=row["id"],
        job_name=row["job_name"],
        docker_image=repository,
        docker_tag=tag,
        gpu_count=spec["gpus"],
        gpu_memory_required=each * spec["gpus"] if asked is None else asked,
        gpu_memory_per_gpu=each,
        cpu_cores_required=spec["cpuCores"],
        memory_required=spec["memoryMegabytes"],
        command=spec.get("command"),
        args=spec.get("args"),
        env=[Variable(**each) for each in spec.get("env") or []],
        queue=spec.get("queueName"),
        priority=spec["priority"],
        scheduling_strategy=spec["schedulingStrategy"],
        timeout_seconds=spec["timeoutSeconds"],
        retries=spec["retries"],
        state=state["state"],
        reason=state["reason"],
        message=state["message"],
        queue_position=around.places.get(row["id"]) if waits else None,
        node_id=around.nodes.get(state["node"] or ""),
        node_name=state["node"],
        created_at=row["created_at"],
        started_at=state["startedAt"],
        finished_at=state["finishedAt"],
        exit_code=state["exitCode"],
        cost=None if cost is None else write_amount(cost),
        currency=context.settings.currency,
        reported=row["reported"] or {},
    )


async def cost_of(context: Context, connection: AsyncConnection, row: Row) -> int:
    """What a job costs until now, in micro-units."""
    charged = int(row["charged"])
    if row["settled_at"] is not None:
        return charged
    job, held = context.cluster.jobs.get(row["id"]), Held.of(row["spec"])
    return charged + await open_cost(connection, job, held, context.clock())
