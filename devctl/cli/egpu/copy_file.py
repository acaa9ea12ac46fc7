"""`egpu copy-file`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import command, job_name, loader_image, size
from devctl.cli.egpu.screen import moving, state
from devctl.cli.options import connected, duration, seconds
from devctl.cli.waiting import live_line

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.jobs.job import Job


@click.command("copy-file")
@job_name
@click.argument("url", metavar="URL")
@click.option("--target-path", metavar="PATH", help="Else where the job reads its input.")
@click.option("--max-size", type=size, metavar="N", default="1Gi", show_default=True, help="Most.")
@click.option(
    "--timeout",
    type=duration,
    metavar="D",
    default="10m",
    show_default=True,
    help="How long the fetch may take.",
)
@click.option(
    "--allow-private",
    is_flag=True,
    help="Let URL lead inside your own network, for a store there.",
)
@loader_image
@connected
def copy_file(
    client: Client,
    name: str,
    url: str,
    target_path: str | None,
    max_size: int,
    timeout: int | str,
    loader_image: str,
    *,
    allow_private: bool,
) -> None:
    """Fetch URL from this machine and put it onto the volume of JOB.

    Where there is no such job yet, it is made and waits for `egpu create`. URL is http or https,
    without a password in it; it may not lead to private or reserved addresses, nor may what it
    redirects to. The environment's proxies are not asked.

    \b
    Examples:
      egpu copy-file my-job https://example.com/image.jpg
      egpu copy-file my-job https://example.com/a.jpg --target-path /artifacts/b
      egpu copy-file my-job http://store.internal/cat.jpg --allow-private
    """
    from devctl.client.jobs.fetch import Limits, look_up  # noqa: PLC0415 - heavy
    from devctl.client.jobs.job import DEFAULT_INPUT  # noqa: PLC0415 - heavy
    from devctl.client.jobs.manifest import check_name  # noqa: PLC0415 - heavy
    from devctl.client.jobs.target import target_path as checked  # noqa: PLC0415 - heavy

    check_name(name)
    limits = Limits(max_size, seconds(timeout), allow_private)
    # Nothing is made for what cannot be fetched, or put where it is to be.
    path = checked(target_path) if target_path is not None else ""
    look_up(url, limits)
    job = _job(client, name)
    path = path or (job.input_path if job else DEFAULT_INPUT)
    with moving(name, loader_image) as (pod, moved):
        done = client.jobs.files.copy_url(name, url, path, limits, moved, **pod)
    click.echo(done.summary())
    if job and job.suspended and not job.started:
        click.echo(f"next: {command(f'create {name}')} starts the job", err=True)


def _job(client: Client, name: str) -> Job | None:
    """The job, made where there is none; None where there is only its volume."""
    from devctl.errors import NotFoundError  # noqa: PLC0415

    job = client.jobs.find(name)
    if job is None:
        try:
            client.jobs.claim(name)
        except NotFoundError:
            job = client.jobs.create(name, suspend=True)
            click.echo(f"ephemeralaccelerationjob/{name} created (suspended)", err=True)
        else:
            return None
    again = f"`{name}` waits: repeat the command, or {command(f'delete {name}')}"
    with live_line(name, "its volume is asked for", again) as line:
        client.jobs.wait_claim(name, progress=lambda seen: line.show(state(seen)))
    return job
