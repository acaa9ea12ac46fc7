"""`egpu delete` and `egpu cleanup`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.confirm import answers, confirm_names, somebody_is_here
from devctl.cli.egpu.options import command
from devctl.cli.listing import all_namespaces
from devctl.cli.options import connected
from devctl.cli.results import Results, changes
from devctl.cli.times import until
from devctl.cli.waiting import live_line, patience, waits
from devctl.errors import AlreadyExistsError, DeniedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.jobs.claim import Claim, Judged
    from devctl.client.jobs.job import Job


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="JOB...", shell_complete=completions.jobs)
@click.option("--delete-pvc", is_flag=True, help="Delete its volume too, with all files.")
@answers
@waits
@patience
@changes("ephemeralaccelerationjob")
@connected
def delete(
    client: Client,
    names: Sequence[str],
    confirm: Sequence[str],
    timeout: float,
    results: Results,
    *,
    yes: bool,
    wait: bool,
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
    found = {name: _job(client, name, delete_pvc=delete_pvc) for name in names}
    claims = {name: _claim(client, name, needed=delete_pvc) for name in found}
    if delete_pvc and (somebody_is_here() or confirm):
        volumes = ", ".join(claim.name for claim in claims.values() if claim) or "no volume"
        what = f"this deletes {', '.join(found)} and all files in {volumes}"
        confirm_names([*found], confirm, what, yes=yes)
    for name, job in found.items():
        if job:
            client.jobs.delete(job)
            results.add(job, "deleted")
            if (claim := claims[name]) and not delete_pvc and not results.quiet:
                _say_kept(job, claim)
    for name, job in found.items() if delete_pvc or wait else ():
        # The pod may still be shutting down even if the job is gone.
        with live_line(name, "shutting down", f"`{name}` keeps shutting down; its volume is kept"):
            client.jobs.wait_gone(name, job.uid if job else "", timeout)
        if delete_pvc and (claim := claims[name]):
            client.jobs.delete_claim(claim)
            results.add(claim, "deleted", "persistentvolumeclaim")


def _job(client: Client, name: str, *, delete_pvc: bool) -> Job | None:
    """The job; None if only its volume is left and is to be deleted."""
    try:
        return client.jobs.get(name)
    except NotFoundError:
        if not delete_pvc or not _claim(client, name, needed=True):
            raise
        return None


def _claim(client: Client, name: str, *, needed: bool) -> Claim | None:
    try:
        return client.jobs.claim(name)
    except (NotFoundError, AlreadyExistsError, DeniedError) as error:
        if needed and not isinstance(error, NotFoundError):  # it is another person's
            raise
        return None


def _say_kept(job: Job, claim: Claim) -> None:
    """Say that the volume is kept, and until when."""
    kept = int(job.spec.get("pvcTTLSecondsAfterFinished", 3600))
    at = job.moment("artifactsExpireAt") or datetime.now(UTC) + timedelta(seconds=kept)
    click.echo(
        f"its volume {claim.name} ({claim.size}) is kept; it expires {until(at)}:\n"
        f"  {command(f'artifacts {job.name} --to results')} downloads its files\n"
        f"  {command(f'delete {job.name} --delete-pvc')} removes it now",
        err=True,
    )


@click.command()
@all_namespaces
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
@changes("persistentvolumeclaim")
@connected
def cleanup(client: Client, results: Results, *, all_namespaces: bool, dry_run: bool) -> None:
    """Delete expired volumes of jobs; the observer also does so by itself.

    A volume expires --pvc-ttl after the end of its job. Volumes that a running pod uses are kept.

    \b
    Examples:
      egpu cleanup --dry-run
      egpu cleanup --namespace gpu-demo
    """
    from devctl.client.jobs.claim import Why  # noqa: PLC0415 - heavy
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415 - heavy

    done = False
    for judged in client.jobs.cleanup.look(EVERYWHERE if all_namespaces else None):
        why = _why(judged)
        if judged.why is Why.DUE:
            why = "" if dry_run else _delete(client, judged)
        if why:
            click.echo(f"{judged.claim.name} is kept: {why}", err=True)
        else:
            results.add(judged.claim, "deleted (dry run)" if dry_run else "deleted")
            done = True
    if not done:
        click.echo("nothing to clean up", err=True)


def _delete(client: Client, judged: Judged) -> str:
    """Delete a volume; why it is kept instead, if it is."""
    try:
        return "" if client.jobs.cleanup.delete(judged) else "it has changed meanwhile"
    except DeniedError as error:
        # It is another person's; the next may be ours.
        return error.message


def _why(judged: Judged) -> str:
    if judged.pods:
        return f"pod {judged.pods[0]} uses it"
    return f"it expires {until(judged.until)}" if judged.until else str(judged.why)
