"""What is said and done once a run was created."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.errors import UsageError

if TYPE_CHECKING:
    from devctl.cli.results import Results
    from devctl.client.client import Client
    from devctl.client.vllm.run import VLLMRun


def check_output(results: Results, *, follow: bool) -> None:
    """Raise UsageError if both the run and its output are to be printed."""
    if follow and results.quiet:
        raise UsageError("-o and --follow both print", "leave out one of them")


def see_to(
    client: Client, made: VLLMRun, results: Results, dry_run: str, *, follow: bool, wait: bool
) -> None:
    """Say that a run was created, and follow it or wait for it as was asked for."""
    from devctl.cli.vllm.attend import (  # noqa: PLC0415 - heavy
        follow_to_its_end,
        say_next,
        see_it_up,
    )

    if dry_run != "none":
        server = " (server dry run)" if dry_run == "server" else " (dry run)"
        results.add(made, f"created{server}")
        return
    if follow:
        # Standard output is the program's.
        click.echo(f"vllmrun/{made.name} created", err=True)
        follow_to_its_end(client, made.name)
        return
    results.add(made, "created")
    if wait:
        results.add(see_it_up(client, made.name), "up")
    elif not results.quiet:
        say_next(made)
