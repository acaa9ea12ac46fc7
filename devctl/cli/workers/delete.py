"""`devctl workers delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import unique
from devctl.cli.results import Results, changes
from devctl.cli.workers.options import served

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.workers.workers import Workers


@click.command()
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...", callback=unique)
@changes("workerjob")
@served
def delete(workers: Workers, jobs: Sequence[str], results: Results) -> None:
    """Delete jobs, whether or not they have ended, with their pods and output.

    One that runs or waits is cancelled, and listed until it has ended. Bills keep what it cost.

    \b
    Examples:
      devctl workers delete JOB
    """
    # All are looked up first, so that a wrong name deletes none of the others.
    for job in [workers.jobs.get(job_id) for job_id in jobs]:
        workers.jobs.delete(job.job_id)
        results.add(job, "deleted")
