"""`devctl workers cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.options import unique
from devctl.cli.results import Results, changes
from devctl.cli.workers.options import served
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.workers.workers import Workers


@click.command()
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...", callback=unique)
@changes("workerjob")
@served
def cancel(workers: Workers, jobs: Sequence[str], results: Results) -> None:
    """End jobs, whether they run or wait. One that has ended is left alone.

    What has run is charged.

    \b
    Examples:
      devctl workers cancel JOB
    """
    for job_id in jobs:
        try:
            results.add(workers.jobs.cancel(job_id), "cancelled")
        except DevctlError as error:
            if error.reason != "Conflict":
                raise
            results.add(workers.jobs.get(job_id), "has ended already")
