"""`egpu delete`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.confirm import answers, confirm_names, somebody_is_here
from devctl.cli.egpu.options import command
from devctl.cli.options import connected, patience, result_output, seconds, waits
from devctl.cli.results import Results
from devctl.cli.times import until
from devctl.cli.waiting import live_line, wanted
from devctl.errors import AlreadyExistsError, DeniedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.jobs.claim import Claim
    from devctl.client.jobs.job import Job


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=completions.jobs)
@click.option("--delete-pvc", is_flag=True, help="Delete its volume too, with all files.")
@answers
@waits
@patience
@result_output
@connected
def delete(
    client: Client,
    names: Sequence[str],
    confirm: Sequence[str],
    timeout: int | str,
    output: str | None,
    *,
    yes: bool,
    wait: bool | None,
    delete_pvc: bool,
) -> None:
    """Delete jobs; their volumes are kept for their retention period.

    --delete-pvc deletes the volume too, once the job's pod has ended; on a terminal it asks for
    the name first. It also takes the name of a job that is already gone.

    \b
    Examples:
      egpu delete my-job
      egpu delete my-job --delete-pvc
    """
    found = [(name, _job(client, name, delete_pvc=delete_pvc)) for name in dict.fromkeys(names)]
    claims = {name: _claim(client, name, needed=delete_pvc) for name, _ in found}
    if delete_pvc and (somebody_is_here() or confirm):
        confirm_names([name for name, _ in found], confirm, _what(claims), yes=yes)
    results = Results(output, "ephemeralaccelerationjob")
    for name, job in found:
        if job:
            client.jobs.delete(job)
            results.add(job, "deleted")
            if not delete_pvc and not results.quiet:
                _say_kept(job, claims[name])
    for name, job in found if delete_pvc or wanted(wait=wait) else []:
        # The pod of a job that is gone may still end.
        with live_line(name, "asked to end", f"`{name}` keeps shutting down; its volume is kept"):
            client.jobs.wait_gone(name, job.uid if job else "", seconds(timeout))
        if delete_pvc and (claim := claims[name]):
            client.jobs.delete_claim(claim)
            results.add(claim, "deleted", "persistentvolumeclaim")
    results.print()


def _what(claims: dict[str, Claim | None]) -> str:
    """What --delete-pvc destroys, as a sentence."""
    volumes = [claim.name for claim in claims.values() if claim]
    return f"this deletes {', '.join(claims)} and all files in {', '.join(volumes) or 'no volume'}"


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
