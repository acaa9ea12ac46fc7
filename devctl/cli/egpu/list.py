"""`egpu list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.formats import FORMATS
from devctl.cli.listing import AGE, labels, ordered, selector, sort_by
from devctl.cli.options import all_namespaces, connected, output
from devctl.cli.results import print_items
from devctl.cli.screen import coloured
from devctl.cli.tables import Column
from devctl.cli.times import left

if TYPE_CHECKING:
    from devctl.client.client import Client

COLUMNS = [
    Column("NAME", lambda job: job.name),
    Column("MODEL", lambda job: job.spec.get("model", "resnet50")),
    Column("PHASE", lambda job: job.phase, style=coloured),
    Column("REASON", lambda job: job.reason),
    Column("GPUS", lambda job: job.gpus, wide=True),
    Column("IMAGE", lambda job: job.spec.get("image"), wide=True),
    Column("RESULT", lambda job: job.artifact_path, wide=True),
    Column("FILES GO", lambda job: left(job.moment("artifactsExpireAt"))),
    AGE,
]


@click.command("list")
@all_namespaces
@selector
@sort_by
@output(*FORMATS)
@connected
def list_(
    client: Client, output: str, selector: str, sort_by: str, *, all_namespaces: bool
) -> None:
    """List jobs.

    \b
    Examples:
      egpu list
      egpu list -A -o wide
    """
    from devctl.kube.cluster import EVERYWHERE  # noqa: PLC0415

    columns = COLUMNS
    if all_namespaces:
        columns = [Column("NAMESPACE", lambda job: job.namespace), *columns]
    print_items(
        ordered(
            client.jobs.list(EVERYWHERE if all_namespaces else None, labels(selector)),
            sort_by,
            columns,
        ),
        output,
        columns,
        "ephemeralaccelerationjob",
        empty=f"no jobs in namespace `{client.namespace}`; make one with `egpu create JOB`",
    )
