"""`devctl workers show`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.facts import fact
from devctl.cli.options import output
from devctl.cli.results import print_document, print_item
from devctl.cli.screen import columns, painted
from devctl.cli.times import age, span
from devctl.cli.workers.jobs import COLOURS
from devctl.cli.workers.nodes import memory
from devctl.cli.workers.options import job_id, served
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.workers.generated.models import WorkerJob
    from devctl.client.workers.workers import Workers


@click.command()
@job_id
@output("text", "json", "yaml", "name")
@served
def show(workers: Workers, job_id: str, output: str) -> None:
    """Show all about a job: its state and why, where it runs, and what it costs until now.

    \b
    Examples:
      devctl workers show JOB
      devctl workers show JOB -o jsonpath='{.state}'
    """
    job = workers.jobs.get(job_id)
    if output == "name":
        print_item(job, output, "workerjob")
    elif output != "text":
        print_document(job.raw, output)
    else:
        for label, text in facts(job):
            lines = fact(label, one_line(text), columns(sys.stdout))
            if label == "State":
                lines[0] = lines[0].replace(
                    job.state, painted(job.state, COLOURS.get(job.state)), 1
                )
            for line in lines:
                click.echo(line)


def facts(job: WorkerJob) -> Iterator[tuple[str, str]]:
    """The labels and facts of a job's page."""
    yield "ID", job.job_id
    yield "Name", job.job_name
    yield "State", f"{job.state} ({job.reason})" if job.reason else job.state
    if job.message:
        yield "", job.message
    if job.queue_position is not None:
        yield "Place", f"{job.queue_position} of those that wait"
    if job.exit_code is not None:
        yield "Exit code", str(job.exit_code)
    yield "Image", job.image
    gpus = f"{job.gpu_count} of {memory(job.gpu_memory_per_gpu)} or more"
    yield "GPUs", gpus if job.gpu_memory_required else str(job.gpu_count)
    yield "CPU", f"{job.cpu_cores_required} cores" if job.cpu_cores_required > 1 else "1 core"
    yield "Memory", memory(job.memory_required)
    if job.node_name:
        yield "Node", f"{job.node_name} ({job.node_id})" if job.node_id else job.node_name
    yield "Age", age(job.created_at)
    if job.started_at:
        yield "Started", f"{age(job.started_at)} ago ({job.started_at:%Y-%m-%d %H:%M:%S} UTC)"
    if job.started_at and job.finished_at:
        yield "Took", span(job.finished_at - job.started_at)
    if job.cost is not None:
        yield "Cost", f"{job.cost} {job.currency}"
    if progress := job.reported.get("progress"):
        yield "Progress", f"{progress}%, as its node says"
    follow = "" if job.finished else " -f"
    yield "Output", f"`devctl workers logs{follow} {job.job_id}`"
