"""`egpu list`, `egpu get`, `egpu watch` and `egpu logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import command, job_name, patience
from devctl.cli.egpu.screen import see_it_end
from devctl.cli.listing import AGE, Listing, all_namespaces, lists, selector, sort_by
from devctl.cli.options import connected, output
from devctl.cli.page import print_page
from devctl.cli.queueing import queue_facts
from devctl.cli.replica_output import ReplicaOutput
from devctl.cli.screen import coloured
from devctl.cli.tables import Column
from devctl.cli.times import age, left, span, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.client import Client
    from devctl.client.jobs.job import Job
    from devctl.client.queues.waiting import Waiting


COLUMNS = [
    Column("NAME", lambda job: job.name),
    Column("MODEL", lambda job: job.spec.get("model", "resnet50")),
    Column("PHASE", lambda job: job.phase, style=coloured),
    Column("REASON", lambda job: job.reason),
    Column("GPUS", lambda job: job.gpus, wide=True),
    Column("FLAVOR", lambda job: job.flavor, wide=True),
    Column("IMAGE", lambda job: job.spec.get("image"), wide=True),
    Column("RESULT", lambda job: job.artifact_path, wide=True),
    Column("FILES EXPIRE", lambda job: left(job.moment("artifactsExpireAt"))),
    AGE,
]


@click.command("list")
@lists(COLUMNS, "ephemeralaccelerationjob", all_namespaces, selector, sort_by)
@connected
def list_(client: Client, listing: Listing) -> None:
    """List jobs.

    \b
    Examples:
      egpu list
      egpu list -A -o wide
    """
    listing.print(
        client.jobs.list(listing.where, listing.labels),
        empty=f"no jobs in namespace `{client.namespace}`; create one with `egpu create JOB`",
    )


@click.command()
@job_name
@output("text", "json", "yaml")
@connected
def get(client: Client, name: str, output: str) -> None:
    """Show details of a job: its state and the reason, its result and when its files expire.

    \b
    Examples:
      egpu get my-job
      egpu get my-job -o yaml
    """
    job = client.jobs.get(name)
    waiting = client.jobs.waiting_for(job) if output == "text" else None
    print_page(job, output, facts(job, waiting), lambda: client.jobs.events(name))


def facts(job: Job, waiting: Waiting | None = None) -> Iterator[tuple[str, str]]:
    """The labels and facts of a job's page; `waiting` says why it waits in a queue."""
    spec, status = job.spec, job.status
    yield "Name", job.name
    yield "Namespace", job.namespace
    yield "Phase", f"{job.phase} ({job.reason})" if job.reason else job.phase
    if job.message:
        yield "", job.message
    if waiting:
        yield from queue_facts(waiting, job.message)
    if "exitCode" in status:
        yield "Exit code", str(status["exitCode"])
    yield "Model", str(spec.get("model", "resnet50"))
    yield "Input", job.input_path
    if job.artifact_path:
        yield "Result", job.artifact_path
    yield "Image", str(spec.get("image", "(the default)"))
    yield from _placed(job)
    yield "Age", age(job.created_at)
    started, finished = job.moment("startedAt"), job.moment("finishedAt")
    if started:
        yield "Started", f"{age(started)} ago ({started:%Y-%m-%d %H:%M:%S} UTC)"
    if started and finished:
        yield "Took", span(finished - started)
    for label, name in (("Pod expires", "podExpiresAt"), ("Files expire", "artifactsExpireAt")):
        if at := job.moment(name):
            yield label, until(at)
    if status.get("podName"):
        yield "Pod", str(status["podName"])
    yield "Volume", f"{job.claim}, {spec.get('pvcSize', '1Gi')}"
    yield "Use", _use(job)


def _placed(job: Job) -> Iterator[tuple[str, str]]:
    """What it runs on."""
    yield "GPUs", str(job.gpus)
    if job.flavor:
        yield "Flavor", job.flavor


def _use(job: Job) -> str:
    """The command to run next."""
    if job.suspended and not job.started:
        return command(f"create {job.name}")
    return command(f"artifacts {job.name} --to results" if job.finished else f"watch {job.name}")


@click.command()
@job_name
@patience
@connected
def watch(client: Client, name: str, timeout: float | None) -> None:
    """Show the state of a job and the reason until it ends.

    The exit code is 0 if it succeeded, 1 if it failed, and 4 after --timeout.

    \b
    Examples:
      egpu watch my-job
      egpu watch my-job --timeout 10m && egpu artifacts my-job --to results
    """
    see_it_end(client, name, timeout, "no news yet")


@click.command()
@job_name
@click.option("-f", "--follow", is_flag=True, help="Wait for the start, and follow until the end.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@connected
def logs(client: Client, name: str, tail: int | None, *, follow: bool) -> None:
    """Print the output of a job, for as long as its pod exists.

    \b
    Examples:
      egpu logs my-job
      egpu logs my-job -f
    """
    output = ReplicaOutput([0])
    for piece in client.jobs.logs(name, follow=follow, tail=tail):
        output.add(0, piece)
    output.end(0)
