"""`devctl workers submit`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devctl.cli.options import seconds
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, waits
from devctl.cli.workers.options import needs, served
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.workers.generated.models import WorkerJob
    from devctl.client.workers.workers import Workers


def read_input(text: str) -> dict[str, Any]:
    """The type of an option that takes a JSON object, or `@` and a file with one, `@-` for stdin.

    >>> read_input('{"epochs": 3}')
    {'epochs': 3}
    """
    if text.startswith("@"):
        name = text[1:]
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.BadParameter(f"`{name}` cannot be read: {error}") from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"it is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.BadParameter('it is not a JSON object: write for example `{"epochs": 3}`')
    return found


read_input.__name__ = "JSON object"  # what click's messages call the type


def variables(
    _context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> Mapping[str, str]:
    """The callback of an option that takes `NAME=VALUE`, more than once."""
    if wrong := [each for each in given if "=" not in each or each.startswith("=")]:
        raise click.BadParameter(f"`{wrong[0]}` is not NAME=VALUE", param=option)
    return dict(each.partition("=")[::2] for each in given)


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("image", metavar="IMAGE")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("--name", metavar="NAME", help="For people.  [default: the image's]")
@needs
@click.option("--input", "data", type=read_input, metavar="JSON", help="An object, or @FILE.")
@click.option(
    "-e", "--env", multiple=True, metavar="K=V", callback=variables, help="May be repeated."
)
@click.option("--queue", metavar="Q", help="The LocalQueue.")
@click.option("--priority", type=click.Choice(["low", "normal", "high"]), help="In its queue.")
@click.option("--timeout", type=seconds, metavar="D", help="It is ended then.  [default: 1d]")
@click.option("--retries", type=click.IntRange(0, 5), metavar="N", help="If it fails.")
@click.option("--key", metavar="KEY", default="", help="A second one with it is the same job.")
@waits
@changes("workerjob")
@served
def submit(workers: Workers, results: Results, *, wait: bool, key: str, **given: Any) -> None:
    """Run an image as a job, in a pod without privileges on a node that has what it needs.

    Its program finds the input in the file $INPUT_DATA_FILE and in $INPUT_DATA. With --wait, the
    exit code is that of the program.

    \b
    Examples:
      devctl workers submit pytorch/pytorch --gpu-memory 8Gi --input @in.json
      devctl workers submit python:3.13 --cpu 4 -- python -c 'print(1)'
    """
    job = workers.jobs.submit(_asked(**given), key=key)
    results.add(job, "submitted")
    if not wait:
        if not results.quiet:
            click.echo(f"next: `devctl workers logs -f {job.job_id}` follows it", err=True)
        return
    ended = _see_it_end(workers, job)
    results.add(ended, ended.state)
    if not results.quiet:
        click.echo(f"`{ended.job_id}` is {ended.state}: {ended.cost} {ended.currency}", err=True)
    if ended.state != "completed":
        results.print()
        raise _failure(ended)


def _asked(**given: Any) -> Any:
    from devctl.client.workers.images import parts_of  # noqa: PLC0415 - not for --help
    from devctl.client.workers.jobs import NewWorkerJob  # noqa: PLC0415

    image, timeout = given["image"], given["timeout"]
    if timeout is not None and timeout < 1:
        raise UsageError("--timeout is a second at least", "write for example `--timeout 2h`")
    return NewWorkerJob(
        image=image,
        name=given["name"] or parts_of(image)[0].rpartition("/")[2],
        command=given["command"],
        gpus=given["gpus"],
        gpu_memory=given["gpu_memory"],
        cores=given["cpu"],
        memory=given["memory"],
        input=given["data"] or {},
        env=given["env"],
        queue=given["queue"],
        priority=given["priority"],
        strategy=given["strategy"],
        timeout=None if timeout is None else int(timeout),
        retries=given["retries"],
    )


def _see_it_end(workers: Workers, job: WorkerJob) -> WorkerJob:
    left = f"`{job.job_id}` continues: `devctl workers cancel {job.job_id}` ends it"
    with live_line(job.job_id, job.state, left) as line:
        return workers.jobs.wait(job.job_id, progress=lambda seen: line.show(state(seen)))


def state(job: WorkerJob) -> str:
    """A job's state and why, in one line."""
    because = f" ({job.reason})" if job.reason else ""
    why = f": {job.message}" if job.message else ""
    return f"{job.job_id}: {job.state}{because}{why}"


def _failure(job: WorkerJob) -> DevctlError:
    error = DevctlError(
        f"job `{job.job_id}` was cancelled" if job.state == "cancelled" else state(job),
        f"see its output with `devctl workers logs {job.job_id}`",
    )
    error.exit_code = job.exit_code or error.exit_code
    return error
