"""Jobs as answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from devctl.api.prices import write_amount
from devctl_gateway.billing.balance import open_cost
from devctl_gateway.billing.charges import Held
from devctl_gateway.cluster.objects import node_of, told
from devctl_gateway.context import Context
from devctl_gateway.scheduling.waiting import in_queue, waits_for_room
from devctl_gateway.scheduling.waiting import places as places_for_room
from devctl_gateway.schemas.jobs import Job, Variable, image_parts
from devctl_gateway.store import jobs, nodes
from devctl_gateway.store.engine import connect
from devctl_gateway.store.rows import Row


async def job_answers(context: Context, rows: Sequence[Row], cost: int | None = None) -> list[Job]:
    """Jobs, with where they are and when it is their turn.

    It may ask the cluster, so no transaction that writes is open meanwhile.
    """
    places = await _places(context, rows)
    await _know_nodes(context, rows)
    return [job_answer(context, row, places, cost) for row in rows]


async def _know_nodes(context: Context, rows: Sequence[Row]) -> None:
    """Learn the IDs of the jobs' nodes."""
    known = context.cluster.jobs
    there = {node_of(known.get(row["id"]), row["final"]) for row in rows} - {""}
    if there - context.node_ids.keys():
        async with connect(context.engine) as connection:
            context.node_ids.update(await nodes.ids(connection))


async def _places(context: Context, rows: Sequence[Row]) -> dict[str, int]:
    """The places of the jobs that wait, by their IDs: 1 is next."""
    known = context.cluster.jobs
    shown = [known[row["id"]] for row in rows if row["id"] in known]
    places: dict[str, int] = {}
    if any(waits_for_room(job) for job in shown):
        async with connect(context.engine) as connection:
            places |= places_for_room(known, await jobs.created(connection))
    for queue in {queue for job in shown if (queue := in_queue(job))}:
        places |= await context.cluster.queues.places(queue)
    return places


def job_answer(
    context: Context, row: Row, places: Mapping[str, int], cost: int | None = None
) -> Job:
    """A job.

    Args:
        context: Of the process; it knows the ID of the job's node.
        row: Its submission.
        places: Of jobs that wait, by their IDs.
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
        queue_position=places.get(row["id"]) if waits else None,
        node_id=context.node_ids.get(state["node"] or ""),
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
