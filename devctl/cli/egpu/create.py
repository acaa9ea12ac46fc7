"""`egpu create`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from devctl.cli import names
from devctl.cli.egpu.options import command, loader_image, patience, whole_seconds
from devctl.cli.egpu.screen import moving, see_it_end
from devctl.cli.options import connected, dry_run_option, sends
from devctl.cli.progress import tell_of_secrets
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, state, waits
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.files.local import Selection
    from devctl.client.jobs.job import Job, Options


@click.command()
@click.argument("name", metavar="JOB")
@click.option("--project-dir", type=click.Path(), metavar="DIR", help="Upload its contents.")
@click.option("--input-path", metavar="PATH", help="Input image, under /artifacts.")
@click.option("--output-path", metavar="PATH", help="Result, under /artifacts.")
@click.option("--weights-path", metavar="PATH", help="Trained weights, under /artifacts.")
@click.option(
    "--model", type=click.Choice(["resnet50", "mobilenet_v3_small"]), help="Image classifier."
)
@click.option("--pvc-ttl", type=whole_seconds, metavar="S", help="Keep its volume for S.")
@click.option("--gpu", type=click.IntRange(0, 64), metavar="N", help="Number of GPUs.")
@click.option(
    "--flavor",
    metavar="NAME",
    shell_complete=names.flavors,
    help="Wait for your team's quota of it.",
)
@click.option("--ttl", type=whole_seconds, metavar="S", help="Keep the ended pod for S.")
@click.option("--storage-class", metavar="NAME", help="Of its volume; default: the cluster's.")
@click.option("--pvc-size", metavar="SIZE", help="Size of its volume, for example 1Gi.")
@click.option("--image", metavar="REF", help="Image to run.")
@click.option("--command", "words", metavar="CMD", help="Command to run instead.")
@sends
@dry_run_option
@changes("ephemeralaccelerationjob")
@waits
@patience
@loader_image
@connected
def create(
    client: Client,
    name: str,
    project_dir: str | None,
    dry_run: str,
    results: Results,
    timeout: float | None,
    loader_image: str,
    *,
    secrets: bool,
    large: bool,
    wait: bool,
    **asked: Any,
) -> None:
    """Create a job; with --project-dir it starts once the folder's contents are on its volume.

    The files that git would list go to the volume's root and are checked there. A job created by
    `egpu copy-file` is completed.

    \b
    Examples:
      egpu create my-job --project-dir ./my-code --input-path /artifacts/image.jpg
      egpu create my-job --model mobilenet_v3_small --pvc-ttl 86400 --wait
      egpu create my-job --image python:3.13 --command "python /artifacts/main.py"
    """
    options = chosen(**asked)
    if dry_run != "none":
        from devctl.client.jobs.job import Job  # noqa: PLC0415 - heavy

        if dry_run == "client":
            results.add(Job(client.jobs.manifest(name, **options)), "created (dry run)")
        else:
            made = client.jobs.create(name, dry_run=True, **options)
            results.add(made, "created (server dry run)")
        return
    # Nothing is created for a folder that cannot be sent.
    what = None
    if project_dir is not None:
        from devctl.client.jobs.files import choose  # noqa: PLC0415 - heavy

        what = choose(Path(project_dir), secrets=secrets, large=large)
        tell_of_secrets(what.secrets, hint=False)
        options["suspend"] = True
    job = client.jobs.create(name, **options)
    results.add(job, "created")
    if what is not None:
        results.add(_fill(client, job, what, loader_image, timeout), "resumed")
    if wait:
        see_it_end(client, name, timeout, "waiting to start")
        if results.quiet:
            results.add(client.jobs.get(name), "ended")
    elif not results.quiet:
        click.echo(f"next: {command(f'watch {name}')} follows it", err=True)


def chosen(*, words: str | None, **asked: Any) -> Options:
    """The options that were given; raises UsageError if the command cannot be split into words.

    >>> chosen(words="python -c 'print(1)'", gpu=0, model=None)
    {'gpu': 0, 'command': ['python', '-c', 'print(1)']}
    """
    options = cast("Options", {name: value for name, value in asked.items() if value is not None})
    if words is not None:
        try:
            options["command"] = shlex.split(words)
        except ValueError as error:
            raise UsageError(f"--command cannot be read: {error}", "close its quotes") from error
        if not options["command"]:
            raise UsageError("--command is empty", "leave it out, or name a program")
    return options


def _fill(client: Client, job: Job, what: Selection, image: str, timeout: float | None) -> Job:
    """Upload files to the volume of a suspended job, and resume it."""
    name = job.name
    again = f"`{name}` is waiting for its files: repeat the command, or {command(f'delete {name}')}"
    try:
        with live_line(name, "waiting for its volume", again) as line:
            patience = {} if timeout is None else {"seconds": timeout}
            client.jobs.wait_claim(name, progress=lambda seen: line.show(state(seen)), **patience)
            with moving(name, image, timeout) as (pod, moved):
                done = client.jobs.files.upload(name, what, moved, **pod)
    except DevctlError:
        click.echo(again, err=True)
        raise
    click.echo(f"{done.summary()} sent and checked", err=True)
    return client.jobs.resume(job)
