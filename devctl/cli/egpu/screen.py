"""What is said of a job while it is waited for, and once it has ended."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import command
from devctl.cli.progress import transferred
from devctl.cli.screen import LiveLine
from devctl.cli.times import until
from devctl.cli.waiting import live_line
from devctl.errors import DevctlError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.client import Client
    from devctl.client.jobs.files import PodOptions
    from devctl.client.jobs.job import Job


def state(job: Job) -> str:
    """What a job does and why, in one line."""
    if not job.reason:
        return f"{job.name}: {job.phase}"
    why = f": {job.message}" if job.message else ""
    return f"{job.name}: {job.phase} ({job.reason}){why}"


def see_it_end(client: Client, name: str, seconds: float | None, first: str) -> None:
    """Show what a job does until it has ended, and how.

    Raises:
        DevctlError: It has failed.
    """
    goes_on = f"`{name}` keeps running: see {command(f'watch {name}')}"
    last: Job | None = None
    changes = client.jobs.follow(name, seconds)
    with live_line(name, first, goes_on) as line:
        for job in changes:
            last = job
            if job.current and not job.finished:
                line.show(state(job))
    if last is None or not last.finished:
        return
    if last.phase == "Failed":
        raise DevctlError(
            f"job `{name}` has failed: {last.reason or 'no reason'}: {last.message}",
            f"see all it printed with {command(f'logs {name}')}, its files with"
            f" {command(f'artifacts {name}')}",
        )
    click.echo(f"ephemeralaccelerationjob/{name} succeeded")
    say_result(last)


def say_result(job: Job) -> None:
    """Say where the result is, and for how long."""
    expires = job.moment("artifactsExpireAt")
    kept = f"; its files go {until(expires)}" if expires else ""
    where = one_line(job.artifact_path or "on its volume")
    click.echo(f"its result is {where}{kept}", err=True)
    click.echo(f"next: {command(f'artifacts {job.name} --to results')} fetches it", err=True)


@contextmanager
def shown(job: str, image: str, seconds: float | None = None) -> Iterator[PodOptions]:
    """What a pod that reaches a job's volume is asked for, with its trouble on the screen."""
    with LiveLine() as line:
        pod: PodOptions = {"image": image, "progress": _slowly(line, job)}
        if seconds is not None:
            pod["seconds"] = seconds
        yield pod


@contextmanager
def moving(
    job: str, image: str, seconds: float | None = None
) -> Iterator[tuple[PodOptions, Callable[[int], None] | None]]:
    """The same, with what shows how many bytes have moved."""
    with shown(job, image, seconds) as pod, transferred() as moved:
        yield pod, moved


def _slowly(line: LiveLine, job: str) -> Callable[[str], None]:
    """Shows trouble; that it takes a moment is of interest on a terminal only."""

    def show(text: str) -> None:
        ordinary = text.startswith(("Creating:", "Scheduling:"))
        if not ordinary or sys.stderr.isatty():
            line.show(f"{job}: a pod for its volume: {text}")

    return show
