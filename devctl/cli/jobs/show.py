"""`devctl jobs list` and `devctl jobs describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.jobs.workload_page import workload_facts, workload_tables
from devctl.cli.listing import AGE, Listing, all_namespaces, lists, selector, sort_by
from devctl.cli.options import connected, output
from devctl.cli.page import print_page
from devctl.cli.results import print_item
from devctl.cli.screen import coloured
from devctl.cli.tables import Column

if TYPE_CHECKING:
    from devctl.cli.jobs.either import AnyJob
    from devctl.client.client import Client

job_name = click.argument("name", metavar="JOB", shell_complete=names.every_job)


def _kind(job: AnyJob) -> str:
    from devctl.cli.jobs.either import kind  # noqa: PLC0415 - heavy

    return kind(job)


KIND = Column("KIND", _kind)
"""Only shown if there are jobs of both kinds."""
COLUMNS = [
    Column("NAME", lambda job: job.name),
    KIND,
    Column("PHASE", lambda job: job.phase, style=coloured),
    Column("REASON", lambda job: job.reason),
    Column("GPUS", lambda job: job.gpus, spare=True),
    Column("RETRIES", lambda job: job.status.get("retryCount"), spare=True),
    Column("NODES", lambda job: job.spec.get("nodes"), wide=True),
    Column("NODE", lambda job: job.status.get("assignedNode"), wide=True),
    Column("QUEUE", lambda job: job.spec.get("queueName") or job.spec.get("flavor"), wide=True),
    Column("PRIORITY", lambda job: job.spec.get("priority"), wide=True),
    Column("OWNER", lambda job: job.owner, wide=True),
    Column("IMAGE", lambda job: job.spec.get("image"), wide=True),
    AGE,
]


@click.command("list")
@lists(COLUMNS, "job", all_namespaces, selector, sort_by)
@connected
def list_(client: Client, listing: Listing) -> None:
    """List GPU workloads and ephemeral jobs.

    \b
    Examples:
      devctl jobs list
      devctl jobs list -A -o wide --sort-by age
    """
    from devctl.cli.jobs.either import every, resource  # noqa: PLC0415 - heavy

    found = every(client, listing.where, listing.labels)
    if listing.output == "name":
        for job in listing.ordered(found):
            print_item(job, "name", resource(job))
        return
    if len({_kind(job) for job in found}) < 2:  # noqa: PLR2004 - the kinds
        listing.columns.remove(KIND)
    listing.print(found, empty=f"no jobs{listing.inside(client)}")


@click.command()
@job_name
@output("text", "json", "yaml", "name")
@connected
def describe(client: Client, name: str, output: str) -> None:
    """Show all about a job: its state and why, its attempts and its place in the queue.

    \b
    Examples:
      devctl jobs describe llama
      devctl jobs describe llama -o yaml
    """
    from devctl.cli.jobs.either import named, resource  # noqa: PLC0415 - heavy
    from devctl.client.workloads.workload import Workload  # noqa: PLC0415

    job = named(client, name)
    if output == "name":
        print_item(job, output, resource(job))
    elif isinstance(job, Workload):
        waiting = client.workloads.waiting_for(job) if output == "text" else None
        facts = workload_facts(job, waiting)
        look = client.workloads.events
        print_page(job, output, facts, lambda: look(job.name), workload_tables(job))
    else:
        from devctl.cli.egpu.show import facts as job_facts  # noqa: PLC0415 - only this needs it

        of_queue = client.jobs.waiting_for(job) if output == "text" else None
        print_page(job, output, job_facts(job, of_queue), lambda: client.jobs.events(job.name))
