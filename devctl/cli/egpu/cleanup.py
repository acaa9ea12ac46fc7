"""`egpu cleanup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import all_namespaces, connected, result_output
from devctl.cli.results import Results
from devctl.cli.times import until
from devctl.errors import DeniedError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.jobs.cleanup import Judged


@click.command()
@all_namespaces
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@result_output
@connected
def cleanup(client: Client, output: str | None, *, all_namespaces: bool, dry_run: bool) -> None:
    """Delete the volumes of jobs whose time is over; the observer does so by itself.

    The time is that of the volume, --pvc-ttl, after the job's end. What a running pod uses stays.

    \b
    Examples:
      egpu cleanup --dry-run
      egpu cleanup --namespace gpu-demo
    """
    from devctl.client.jobs.cleanup import Why  # noqa: PLC0415 - heavy
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415

    found = client.jobs.cleanup.look(EVERYWHERE if all_namespaces else None)
    results, done = Results(output, "persistentvolumeclaim"), 0
    for judged in found:
        if judged.why is not Why.DUE:
            click.echo(kept(judged), err=True)
        elif dry_run:
            results.add(judged.claim, "deleted (dry run)")
            done += 1
        else:
            done += _delete(client, judged, results)
    results.print()
    if not done:
        click.echo("nothing to clean up", err=True)


def _delete(client: Client, judged: Judged, results: Results) -> bool:
    """Delete a volume, or say why it stays; whether it went."""
    name = judged.claim.name
    try:
        if client.jobs.cleanup.delete(judged):
            results.add(judged.claim, "deleted")
            return True
        click.echo(f"{name} is kept: it has changed meanwhile", err=True)
    except DeniedError as error:
        # Another person's: the others may still be ours.
        click.echo(f"{name} is kept: {error.message}", err=True)
    return False


def kept(judged: Judged) -> str:
    """Why a volume stays, in one line."""
    from devctl.client.jobs.cleanup import Why  # noqa: PLC0415 - heavy

    why = str(judged.why)
    if judged.why is Why.IN_USE:
        why = f"pod {judged.pods[0]} uses it"
    elif judged.why is Why.EARLY and judged.until:
        why = f"it goes {until(judged.until)}"
    return f"{judged.claim.name} is kept: {why}"
