"""`k8shazgpu cleanup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli import names as completions
from devctl.cli.confirm import somebody_is_here, yes_option
from devctl.cli.options import connected
from devctl.cli.results import Results, changes
from devctl.cli.waiting import live_line, patience, waits
from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.vllm.run import VLLMRun


@click.command()
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="RUN",
    shell_complete=completions.vllm_runs,
    help="This one; may be repeated.",
)
@click.option("--all", "every", is_flag=True, help="All of yours in the namespace.")
@yes_option
@waits
@patience
@changes("vllmrun")
@connected
def cleanup(
    client: Client,
    names: tuple[str, ...],
    results: Results,
    timeout: float,
    *,
    every: bool,
    yes: bool,
    wait: bool,
) -> None:
    """Delete runs with their pods and output, so that their GPUs are free.

    Volumes and Secrets that they used stay. With --all, also the changes of checkouts that you have
    sent and no run names any more. On a terminal, --all asks first.

    \b
    Examples:
      k8shazgpu cleanup --name my-demo
      k8shazgpu cleanup --all
    """
    if every == bool(names):
        raise UsageError("name runs with --name, or all of yours with --all", "use one of both")
    runs = client.vllm_runs.own() if every else [client.vllm_runs.get(n) for n in _once(names)]
    if not runs:
        if not (every and _delete_capsules(client)):
            click.echo(f"nothing to clean up in namespace `{client.namespace}`", err=True)
        return
    if every and somebody_is_here() and not yes:
        told = ", ".join(f"`{run.name}`" for run in runs)
        click.confirm(f"This deletes {told}. Continue?", default=False, abort=True, err=True)
    for run in runs:
        _delete(client, run, results, every=every)
    for run in runs if wait else ():
        _see_it_gone(client, run, timeout)
    if every and runs:
        _delete_capsules(client)


def _delete_capsules(client: Client) -> bool:
    """Delete what the user has sent and no run names, and say so; whether there was any."""
    gone = client.vllm_runs.capsules.delete_own()
    if gone:
        click.echo(f"deleted what no run names any more: {', '.join(gone)}", err=True)
    return bool(gone)


def _delete(client: Client, run: VLLMRun, results: Results, *, every: bool) -> None:
    try:
        client.vllm_runs.delete(run)
    except NotFoundError:
        # What else wants all of them gone may have been faster.
        if not every:
            raise
        return
    results.add(run, "deleted")


def _see_it_gone(client: Client, run: VLLMRun, timeout: float) -> None:
    left = f"`{run.name}` keeps shutting down; its GPUs are free after that"
    with live_line(run.name, "shutting down", left) as line:
        client.vllm_runs.wait_gone(run, timeout, lambda state: line.show(f"{run.name}: {state}"))


def _once(names: Sequence[str]) -> Sequence[str]:
    return list(dict.fromkeys(names))
