"""What the commands of `devctl workers` share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from devctl.api.quantities import parse_quantity
from devctl.cli.options import stacked
from devctl.cli.shared_options import verbose

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., Any]

_MEGABYTE = 1 << 20
STRATEGIES = ("leastLoaded", "packed", "costOptimized", "random")
STATES = ("pending", "scheduled", "running", "completed", "failed", "cancelled")


def served(command: Command) -> Command:
    """Give a command the GPU workers API of the settings. Its results are printed at the end."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from devctl.client.workers.workers import Workers  # noqa: PLC0415 - not for --help

        with Workers() as workers:
            code = command(workers, *args, **kwargs)
        if results := kwargs.get("results"):
            results.print()
        return code

    return verbose(run)


def megabytes(value: int | str) -> int:
    """The type of an option that takes memory, and gives whole megabytes, rounded up.

    >>> megabytes("16Gi"), megabytes("512Mi"), megabytes("1")
    (16384, 512, 1)
    """
    try:
        count = parse_quantity(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}: write for example `16Gi`") from error
    if not 0 <= count < 1 << 63:
        raise click.BadParameter(f"`{value}` is not an amount of memory: write for example `16Gi`")
    return -(-int(count) // _MEGABYTE)


megabytes.__name__ = "memory"  # what click's messages call the type

needs = stacked(
    click.option("--gpus", type=click.IntRange(0, 8), metavar="N", help="1 with --gpu-memory."),
    click.option(
        "--gpu-memory", type=megabytes, metavar="SIZE", help="Of all its GPUs, such as 16Gi."
    ),
    click.option("--cpu", type=click.IntRange(1, 1024), metavar="N", help="Whole cores."),
    click.option("--memory", type=megabytes, metavar="SIZE", help="Such as 16Gi."),
    click.option("--strategy", type=click.Choice(STRATEGIES), help="How a node is chosen."),
)
"""For a command about what a job needs."""
job_id = click.argument("job_id", metavar="JOB")
