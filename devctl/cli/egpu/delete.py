"""`egpu delete`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.egpu.options import command
from devctl.cli.options import connected, duration, seconds
from devctl.cli.tables import until
from devctl.cli.waiting import live_line
from devctl.errors import AlreadyExistsError, DeniedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.jobs.claim import Claim
    from devctl.client.jobs.job import Job


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=completions.jobs)
@click.option("--delete-pvc", is_flag=True, help="Delete its volume too, with all files.")
@click.option("--timeout", type=duration, metavar="D", default="5m", help="How long to wait.")
@connected
def delete(client: Client, names: Sequence[str], timeout: int | str, *, delete_pvc: bool) -> None:
    """Delete jobs; their volumes stay for their time.

    With --delete-pvc the volume goes too, once the job's pod has ended, and nobody is asked. A job
    that is gone already may be named for that.

    \b
    Examples:
      egpu delete my-job
      egpu delete my-job --delete-pvc
    """
    found = [(name, _job(client, name, delete_pvc=delete_pvc)) for name in dict.fromkeys(names)]
    claims = {name: _claim(client, name, needed=delete_pvc) for name, _ in found}
    for name, job in found:
        if job:
            client.jobs.delete(job)
            click.echo(f"ephemeralaccelerationjob/{name} deleted")
            if not delete_pvc:
                _say_kept(job, claims[name])
    for name, job in found if delete_pvc else []:
        # The pod of a job that is gone may still end.
        with live_line(name, "asked to end", f"`{name}` goes on ending; its volume stays"):
            client.jobs.wait_gone(name, job.uid if job else "", seconds(timeout))
        if claim := claims[name]:
            client.jobs.delete_claim(claim)
            click.echo(f"persistentvolumeclaim/{claim.name} deleted")


def _job(client: Client, name: str, *, delete_pvc: bool) -> Job | None:
    """The job; None where only its volume is left, and that is what is meant."""
    try:
        return client.jobs.get(name)
    except NotFoundError:
        if not delete_pvc or not _claim(client, name, needed=True):
            raise
        return None


def _claim(client: Client, name: str, *, needed: bool) -> Claim | None:
    try:
        return client.jobs.claim(name)
    except NotFoundError:
        return None
    except (AlreadyExistsError, DeniedError):  # somebody else's, or not ours to see
        if needed:
            raise
        return None


def _say_kept(job: Job, claim: Claim | None) -> None:
    """Say that the volume stays, and until when."""
    if claim is None:
        return
    kept = int(job.spec.get("pvcTTLSecondsAfterFinished", 3600))
    at = job.moment("artifactsExpireAt") or datetime.now(UTC) + timedelta(seconds=kept)
    name = job.name
    click.echo(
        f"its volume {claim.name} ({claim.size}) is kept; it goes {until(at)}:\n"
        f"  {command(f'artifacts {name} --to results')} fetches its files\n"
        f"  {command(f'delete {name} --delete-pvc')} removes it now",
        err=True,
    )
