"""`egpu get`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.describe import event_rows, fact
from devctl.cli.egpu.options import command, job_name
from devctl.cli.options import connected, output
from devctl.cli.results import print_document
from devctl.cli.screen import coloured, is_terminal
from devctl.cli.tables import table
from devctl.cli.times import age, span, until
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from devctl.client.client import Client
    from devctl.client.events import Event
    from devctl.client.jobs.job import Job

_EVENTS = 8


@click.command()
@job_name
@output("text", "json", "yaml")
@connected
def get(client: Client, name: str, output: str) -> None:
    """Show all about a job: what it does and why, where its result is and how long it stays.

    \b
    Examples:
      egpu get my-job
      egpu get my-job -o yaml
    """
    from devctl.errors import DeniedError  # noqa: PLC0415

    job = client.jobs.get(name)
    if output != "text":
        print_document(job.raw, output)
        return
    try:
        events: Sequence[Event] = client.jobs.events(name)[-_EVENTS:]
    except DeniedError:
        events = ()
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else 0
    for line in page(job, events, width=width):
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
    rows = event_rows(events, now)
    if len(rows) > 1:
        cells = [[one_line(cell) for cell in row] for row in rows]
        lines += ["", "Events:", *(f"  {line}" for line in table(cells[0], cells[1:]))]
    return lines


def facts(job: Job, now: datetime | None = None) -> Iterator[tuple[str, str]]:
    """What is said of a job, each with a label; further lines of one have none."""
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
    yield from _times(job, now)
    if status.get("podName"):
        yield "Pod", str(status["podName"])
    yield "Volume", f"{job.claim}, {spec.get('pvcSize', '1Gi')}"
    for number, words in enumerate(_uses(job)):
        yield "" if number else "Use", words


def _times(job: Job, now: datetime | None) -> Iterator[tuple[str, str]]:
    started, finished = job.moment("startedAt"), job.moment("finishedAt")
    if started:
        yield "Started", f"{age(started, now)} ago ({started:%Y-%m-%d %H:%M:%S} UTC)"
    if started and finished:
        yield "Took", span(finished - started)
    for label, name in (("Pod goes", "podExpiresAt"), ("Files go", "artifactsExpireAt")):
        if at := job.moment(name):
            yield label, until(at, now)


def _uses(job: Job) -> Iterator[str]:
    name = job.name
    if job.suspended and not job.started:
        yield command(f"create {name}")
    elif not job.finished:
        yield command(f"watch {name}")
    else:
        yield command(f"artifacts {name} --to results")
