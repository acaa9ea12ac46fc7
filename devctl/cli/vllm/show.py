"""`k8shazgpu vllm list`, `describe` and `logs`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from devctl.cli.listing import AGE, Listing, all_namespaces, lists, selector, sort_by
from devctl.cli.options import connected, output
from devctl.cli.page import Table, print_page
from devctl.cli.replica_output import ReplicaOutput
from devctl.cli.results import print_item
from devctl.cli.screen import coloured
from devctl.cli.tables import Column
from devctl.cli.times import age, span, until
from devctl.cli.vllm.options import command, run_name
from devctl.cli.vllm.show_checkout import checkout_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.client import Client
    from devctl.client.vllm.run import VLLMRun

COLUMNS = [
    Column("NAME", lambda run: run.name),
    Column("PHASE", lambda run: run.phase, style=coloured),
    Column("REASON", lambda run: run.reason),
    Column("GPUS", lambda run: run.gpus, spare=True),
    Column("NODE", lambda run: run.node, spare=True),
    Column("URL", lambda run: run.url, wide=True),
    Column("OWNER", lambda run: run.owner, wide=True),
    Column("IMAGE", lambda run: run.image, wide=True),
    AGE,
]
DEVICES = [
    Column("GPU", lambda device: device.get("index")),
    Column("MODEL", lambda device: device.get("model")),
    Column("UUID", lambda device: device.get("uuid")),
    Column("HEALTH", lambda device: "unhealthy" if device.get("unhealthy") else ""),
]


@click.command("list")
@lists(COLUMNS, "vllmrun", all_namespaces, selector, sort_by)
@connected
def list_(client: Client, listing: Listing) -> None:
    """List runs.

    \b
    Examples:
      k8shazgpu vllm list
      k8shazgpu vllm list -A -o wide --sort-by age
    """
    found = client.vllm_runs.list(listing.where, listing.labels)
    listing.print(found, empty=f"no runs{listing.inside(client)}")


@click.command()
@run_name
@output("text", "json", "yaml", "name")
@connected
def describe(client: Client, name: str, output: str) -> None:
    """Show all about a run: its state and why, its GPUs, and where it is served.

    \b
    Examples:
      k8shazgpu vllm describe my-demo
      k8shazgpu vllm describe my-demo -o yaml
    """
    run = client.vllm_runs.get(name)
    if output == "name":
        print_item(run, output, "vllmrun")
        return
    tables = [Table("GPUs", DEVICES, run.devices)]
    print_page(run, output, facts(run), lambda: client.vllm_runs.events(name), tables)


def facts(run: VLLMRun) -> Iterator[tuple[str, str]]:
    """The labels and facts of a run's page."""
    yield "Name", run.name
    yield "Namespace", run.namespace
    yield "Phase", f"{run.phase} ({run.reason})" if run.reason else str(run.phase)
    if run.message:
        yield "", run.message
    if run.url:
        yield "URL", run.url
    if run.exit_code is not None:
        yield "Exit code", str(run.exit_code)
    yield "Command", shlex.join(run.command)
    yield "Image", run.image
    yield from checkout_facts(run)
    yield "GPUs", _gpus(run)
    if run.node:
        yield "Node", run.node
    if run.owner:
        yield "Owner", run.owner
    yield "Age", age(run.created_at)
    started, finished = run.moment("startedAt"), run.moment("finishedAt")
    if started:
        yield "Started", f"{age(started)} ago ({started:%Y-%m-%d %H:%M:%S} UTC)"
    if started and finished:
        yield "Took", span(finished - started)
    if expires := run.moment("podExpiresAt"):
        yield "Pod expires", until(expires)
    yield "Pod", run.pod
    yield "Use", _use(run)


def _gpus(run: VLLMRun) -> str:
    ids = run.spec.get("gpuIds")
    return f"{run.gpus}: {', '.join(map(str, ids))}" if ids else str(run.gpus)


def _use(run: VLLMRun) -> str:
    """The command to run next."""
    if run.url:
        return f"`kubectl port-forward {run.pod} {run.port}:{run.port}`"
    return command(f"vllm logs {run.name}" if run.finished else f"vllm logs -f {run.name}")


@click.command()
@run_name
@click.option("-f", "--follow", is_flag=True, help="Wait for the start, and follow until the end.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@connected
def logs(client: Client, name: str, tail: int | None, *, follow: bool) -> None:
    """Print the output of a run, for as long as its pod exists.

    With -f, Ctrl-C only stops following.

    \b
    Examples:
      k8shazgpu vllm logs my-demo
      k8shazgpu vllm logs -f my-demo
    """
    shown = ReplicaOutput([0])
    for piece in client.vllm_runs.logs(name, follow=follow, tail=tail):
        shown.add(0, piece)
    shown.end(0)
