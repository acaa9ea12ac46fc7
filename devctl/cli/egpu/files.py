"""`egpu artifacts`, `egpu copy-file` and `egpu debug`: the files on a job's volume."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.egpu.options import command, job_name, loader_image, size
from devctl.cli.egpu.screen import moving
from devctl.cli.formats import FORMATS
from devctl.cli.options import connected, output, seconds
from devctl.cli.progress import tell_of_trouble, tell_of_withheld
from devctl.cli.results import print_items
from devctl.cli.tables import Column
from devctl.cli.times import age
from devctl.cli.waiting import live_line, state
from devctl.errors import NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.files.remote import Place
    from devctl.client.jobs.files import StoredFile
    from devctl.client.jobs.job import Job


COLUMNS = [
    Column("NAME", lambda file: readable(file.name)),
    Column("SIZE", lambda file: _amount(file)),  # noqa: PLW0108 - defined below
    Column("AGE", lambda file: age(file.changed_at)),
]


@click.command()
@job_name
@click.option("--to", "target", type=click.Path(), metavar="DIR", help="Download them into DIR.")
@output(*(name for name in FORMATS if name not in {"wide", "name"}))
@loader_image
@connected
def artifacts(
    client: Client, name: str, target: str | None, output: str, loader_image: str
) -> None:
    """List the files on a job's volume, or download them.

    The job may be running, have ended or be deleted, as long as its volume exists. Existing files
    in DIR that differ are not replaced.

    \b
    Examples:
      egpu artifacts my-job
      egpu artifacts my-job --to results
    """
    if target is None:
        with moving(name, loader_image) as (pod, _):
            found = client.jobs.files.list(name, **pod)
        empty = f"there are no files on the volume of `{name}`"
        print_items(found, output, COLUMNS, "file", raw=_raw, empty=empty)
        if found and output == "table":
            click.echo(f"{command(f'artifacts {name} --to results')} downloads them", err=True)
        return
    if output != "table":
        raise UsageError("-o cannot be combined with --to", "leave out one of the two")
    with moving(name, loader_image) as (pod, moved):
        done = client.jobs.files.download(name, Path(target), moved, **pod)
    click.echo(done.summary())
    tell_of_withheld(done)
    tell_of_trouble(done.left_out, done.changed)


def _raw(file: StoredFile) -> dict[str, object]:
    when = file.changed_at.isoformat()
    # Escaped as in the table: JSON cannot hold bytes that are not text.
    return {"name": readable(file.name), "size": file.size, "changedAt": when, "link": file.link}


def _amount(file: StoredFile) -> str:
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy

    return "(link)" if file.link else amount(file.size)


@click.command("copy-file")
@job_name
@click.argument("url", metavar="URL")
@click.option("--target-path", metavar="PATH", help="Default: the job's input.")
@click.option(
    "--max-size", type=size, metavar="N", default="1Gi", show_default=True, help="Size limit."
)
@click.option(
    "--timeout", type=seconds, metavar="D", default="10m", show_default=True, help="Time limit."
)
@click.option(
    "--allow-private", is_flag=True, help="Allow URLs in your own network, for a store there."
)
@loader_image
@connected
def copy_file(
    client: Client,
    name: str,
    url: str,
    target_path: str | None,
    max_size: int,
    timeout: float,
    loader_image: str,
    *,
    allow_private: bool,
) -> None:
    """Download URL on this machine and write it to the volume of JOB.

    If the job does not exist, it is created and waits for `egpu create`. URL is http or https,
    without a password in it. Neither it nor its redirects may lead to private or reserved
    addresses. Proxies from the environment are not used.

    \b
    Examples:
      egpu copy-file my-job https://example.com/image.jpg
      egpu copy-file my-job https://example.com/a.jpg --target-path /artifacts/b
      egpu copy-file my-job http://store.internal/cat.jpg --allow-private
    """
    from devctl.client.jobs import copy_url, fetch  # noqa: PLC0415 - heavy
    from devctl.client.jobs.job import DEFAULT_INPUT, check_name  # noqa: PLC0415 - heavy

    # Nothing is created for what cannot be fetched or written.
    check_name(name)
    limits = fetch.Limits(max_size, timeout, allow_private)
    path = "" if target_path is None else copy_url.target_path(target_path)
    fetch.look_up(url, limits)
    job = _job(client, name)
    path = path or (job.input_path if job else DEFAULT_INPUT)
    with moving(name, loader_image) as (pod, moved):
        done = client.jobs.files.copy_url(name, url, path, limits, moved, **pod)
    click.echo(done.summary())
    if job and job.suspended and not job.started:
        click.echo(f"next: {command(f'create {name}')} starts the job", err=True)


def _job(client: Client, name: str) -> Job | None:
    """The job, created if it does not exist; None if only its volume does."""
    job = client.jobs.find(name)
    if job is None:
        with suppress(NotFoundError):
            client.jobs.claim(name)
            return None
        job = client.jobs.create(name, suspend=True)
        click.echo(f"ephemeralaccelerationjob/{name} created (suspended)", err=True)
    again = f"`{name}` is waiting: repeat the command, or {command(f'delete {name}')}"
    with live_line(name, "waiting for its volume", again) as line:
        client.jobs.wait_claim(name, progress=lambda seen: line.show(state(seen)))
    return job


@click.command()
@job_name
@click.option("--keep", is_flag=True, help="Leave the pod running.")
@loader_image
@connected
def debug(client: Client, name: str, loader_image: str, *, keep: bool) -> int:
    """Create a pod with a job's volume at /mnt and, on a terminal, open a shell in it.

    Without a terminal, the pod is kept until Ctrl-C; with --keep, the command ends at once. A pod
    that is left running ends by itself after 8 hours.

    \b
    Examples:
      egpu debug my-job
      egpu debug my-job --keep
    """
    ready = False
    with moving(name, loader_image) as (pod, _):
        # A pod that does not start is not worth keeping.
        pod["keep"] = lambda: keep and ready
        with client.jobs.files.debug(name, **pod) as place:
            ready = True
            click.echo(f"kubectl exec -it {place.pod} -n {place.namespace} -- sh")
            if sys.stdin.isatty() and sys.stdout.isatty():
                return _shell(client, place)
            return 0 if keep else _wait(place.pod)


def _wait(pod: str) -> int:
    click.echo(f"pod {pod} is kept until Ctrl-C", err=True)
    threading.Event().wait()
    return 0


def _shell(client: Client, place: Place) -> int:
    """Run a shell in the pod; returns its exit code."""
    from devctl.client.streams import stdio  # noqa: PLC0415 - heavy
    from devctl.kube.pod_streams import open_exec  # noqa: PLC0415

    where = {"namespace": place.namespace, "container": place.container}
    stream = open_exec(client.cluster, place.pod, ["sh"], **where, stdin=True, tty=True)
    source, output = sys.stdin.fileno(), sys.stdout.fileno()
    return stdio.drain_terminal(stream, source, output, lambda data: stdio.write(2, data))
