"""What is shown while a job is waited for, once it has ended, and while files move."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import command
from devctl.cli.progress import transferred
from devctl.cli.screen import LiveLine
from devctl.cli.times import until
from devctl.cli.waiting import live_line, state
from devctl.errors import DevctlError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.client import Client
    from devctl.client.jobs.helper_pod import PodOptions
    from devctl.client.jobs.job import Job
    from devctl.client.jobs.pod_startup import Trouble


def see_it_end(client: Client, name: str, seconds: float | None, first: str) -> None:
    """Show the state of a job until it ends, then its result; a failure raises DevctlError."""
    again = f"`{name}` keeps running: see {command(f'watch {name}')}"
    last: Job | None = None
    changes = client.jobs.follow(name, seconds)
    with live_line(name, first, again) as line:
        for job in changes:
            last = job
            if job.current and not job.finished:
                line.show(state(job))
    if last is None or not last.finished:
        return
    if last.phase == "Failed":
        raise DevctlError(
            f"job `{name}` has failed: {last.reason or 'no reason'}: {last.message}",
            f"see its output with {command(f'logs {name}')}, its files with"
            f" {command(f'artifacts {name}')}",
        )
    click.echo(f"ephemeralaccelerationjob/{name} succeeded")
    expires = last.moment("artifactsExpireAt")
    kept = f"; its files expire {until(expires)}" if expires else ""
    where = one_line(last.artifact_path or "on its volume")
    click.echo(f"its result is {where}{kept}", err=True)
    click.echo(f"next: {command(f'artifacts {name} --to results')} downloads it", err=True)


@contextmanager
def moving(
    job: str, image: str, seconds: float | None = None
) -> Iterator[tuple[PodOptions, Callable[[int], None] | None]]:
    """The options of a pod for a job's volume, with its problems and moved bytes shown."""
    with LiveLine() as line, transferred() as moved:

        def progress(trouble: Trouble) -> None:
            # That every pod takes a moment matters only on a terminal.
            if trouble.reason not in {"Creating", "Scheduling"} or sys.stderr.isatty():
                line.show(f"{job}: a pod for its volume: {trouble}")

        pod: PodOptions = {"image": image, "progress": progress}
        if seconds is not None:
            pod["seconds"] = seconds
        yield pod, moved
