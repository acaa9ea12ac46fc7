"""`egpu list` and `egpu get`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.describe import event_rows
from devctl.cli.egpu.options import command, job_name
from devctl.cli.facts import fact
from devctl.cli.formats import FORMATS
from devctl.cli.listing import AGE, labels, ordered, scope, selector, sort_by
from devctl.cli.options import all_namespaces, connected, output
from devctl.cli.results import print_document, print_items
from devctl.cli.screen import coloured
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.tables import Column, table
from devctl.cli.times import age, left, span, until
from devctl.errors import DeniedError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from devctl.client.client import Client
    from devctl.client.events import Event
    from devctl.client.jobs.job import Job

_EVENTS = 8
COLUMNS = [
    Column("NAME", lambda job: job.name),
    Column("MODEL", lambda job: job.spec.get("model", "resnet50")),
    Column("PHASE", lambda job: job.phase, style=coloured),
    Column("REASON", lambda job: job.reason),
    Column("GPUS", lambda job: job.gpus, wide=True),
    Column("IMAGE", lambda job: job.spec.get("image"), wide=True),
    Column("RESULT", lambda job: job.artifact_path, wide=True),
    Column("FILES EXPIRE", lambda job: left(job.moment("artifactsExpireAt"))),
    AGE,
]


@click.command("list")
@all_namespaces
@selector
@sort_by
@output(*FORMATS)
@connected
def list_(
    client: Client, output: str, selector: str, sort_by: str, *, all_namespaces: bool
) -> None:
    """List jobs.

    \b
    Examples:
      egpu list
      egpu list -A -o wide
    """
    where, columns = scope(COLUMNS, all_namespaces=all_namespaces)
    print_items(
        ordered(client.jobs.list(where, labels(selector)), sort_by, columns),
        output,
        columns,
        "ephemeralaccelerationjob",
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
    if output != "text":
        print_document(job.raw, output)
        return
    try:
        events: Sequence[Event] = client.jobs.events(name)[-_EVENTS:]
    except DeniedError:
        events = ()
    for line in page(job, events, width=terminal_columns(sys.stdout)):
        click.echo(line)


def page(
    job: Job, events: Sequence[Event], *, width: int = 0, now: datetime | None = None
) -> list[str]:
    """The lines of the page; see devctl.cli.describe.page."""
    lines = []
    for label, text in facts(job, now):
        lines += fact(label, one_line(text), width)
        if label == "Phase":
            lines[-1] = lines[-1].replace(job.phase, coloured(job.phase), 1)
    titles, *rows = [[one_line(cell) for cell in row] for row in event_rows(events, now)]
    if rows:
        lines += ["", "Events:", *(f"  {line}" for line in table(titles, rows))]
    return lines


def facts(job: Job, now: datetime | None = None) -> Iterator[tuple[str, str]]:
    """Labels and texts about a job; further lines of a text have no label."""
    spec, status = job.spec, job.status
    yield "Name", job.name
    yield "Namespace", job.namespace
    yield "Phase", f"{job.phase} ({job.reason})" if job.reason else job.phase
    if job.message:
        yield "", job.message
    if "exitCode" in status:
        yield "Exit code", str(status["exitCode"])
    yield "Model", str(spec.get("model", "resnet50"))
    yield "Input", job.input_path
    if job.artifact_path:
        yield "Result", job.artifact_path
    yield "Image", str(spec.get("image", "(the default)"))
    yield "GPUs", str(job.gpus)
    yield "Age", age(job.created_at, now)
    started, finished = job.moment("startedAt"), job.moment("finishedAt")
    if started:
        yield "Started", f"{age(started, now)} ago ({started:%Y-%m-%d %H:%M:%S} UTC)"
    if started and finished:
        yield "Took", span(finished - started)
    for label, name in (("Pod expires", "podExpiresAt"), ("Files expire", "artifactsExpireAt")):
        if at := job.moment(name):
            yield label, until(at, now)
    if status.get("podName"):
        yield "Pod", str(status["podName"])
    yield "Volume", f"{job.claim}, {spec.get('pvcSize', '1Gi')}"
    yield "Use", _use(job)


def _use(job: Job) -> str:
    """The command to run next."""
    if job.suspended and not job.started:
        return command(f"create {job.name}")
    return command(f"artifacts {job.name} --to results" if job.finished else f"watch {job.name}")
