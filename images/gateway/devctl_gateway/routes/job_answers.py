"""Jobs as answers."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from devctl.api.prices import write_amount
from devctl_gateway.billing.balance import open_cost
from devctl_gateway.billing.charges import Held
from devctl_gateway.cluster.objects import told
from devctl_gateway.context import Context
from devctl_gateway.schemas.jobs import Job, Variable, image_parts
from devctl_gateway.store.rows import Row


def job_answer(context: Context, row: Row, cost: int | None = None) -> Job:
    """A job.

    Args:
        context: Of the process.
        row: Its submission.
        cost: In micro-units; None if it is not asked for.
    """
    spec = row["spec"]
    repository, tag = image_parts(spec["image"])
    state = told(context.cluster.jobs.get(row["id"]), row["final"])
    return Job(
        job_id=row["id"],
        job_name=row["job_name"],
        docker_image=repository,
        docker_tag=tag,
        gpu_count=spec["gpus"],
        gpu_memory_required=spec["gpuMemoryMegabytes"],
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
