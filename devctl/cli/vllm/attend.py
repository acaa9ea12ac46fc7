"""A run on the screen: what it waits for, that it is up, its output and its end, and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import somebody_is_here
from devctl.cli.replica_output import ReplicaOutput
from devctl.cli.screen import LiveLine
from devctl.cli.vllm.options import command
from devctl.cli.waiting import live_line, state, ticking
from devctl.client.vllm.run import VLLMRun
from devctl.errors import DevctlError
from devctl.text import one_line

if TYPE_CHECKING:
    from devctl.client.client import Client


def say_next(run: VLLMRun) -> None:
    """Say how to look at a run that was created."""
    click.echo(f"next: {command(f'vllm logs -f {run.name}')} follows it", err=True)


def see_it_up(client: Client, name: str) -> VLLMRun:
    """Show the state of a run until it is up, and say how to reach it.

    Raises:
        DevctlError: It has failed.
    """
    look = command(f"vllm describe {name}")
    with live_line(name, "waiting for its GPUs", f"`{name}` continues: see {look}") as line:

        def progress(seen: VLLMRun) -> None:
            if seen.reason or seen.phase != "Pending":  # else there is nothing to say yet
                line.show(state(seen))

        run = client.vllm_runs.wait_ready(name, progress=progress)
    if error := failure(run):
        raise error
    if run.url:
        click.echo(f"`{name}` is served at {one_line(run.url)} within the cluster", err=True)
        forward = f"kubectl port-forward {run.pod} {run.port}:{run.port}"
        click.echo(f"next: `{forward}` has it at http://localhost:{run.port}", err=True)
    elif run.finished:
        read = command(f"vllm logs {name}")
        click.echo(f"`{name}` has ended: {read} prints its output", err=True)
    else:
        say_next(run)
    return run


def follow_to_its_end(client: Client, name: str) -> VLLMRun:
    """Show the output of a run until it ends.

    Raises:
        KeyboardInterrupt: The user has stopped following, or has deleted it.
        DevctlError: It has failed; with the exit code of its program.
    """
    try:
        run = _attend(client, name)
    except KeyboardInterrupt:
        _leave(client, name)
        raise
    if error := failure(run):
        raise error
    return run


def failure(run: VLLMRun) -> DevctlError | None:
    """The error of a run that has failed, with the exit code of its program; else None."""
    if run.phase != "Failed":
        return None
    error = DevctlError(
        f"run `{run.name}` has failed: {run.reason}: {run.message}",
        f"see all about it with {command(f'vllm describe {run.name}')}",
    )
    error.exit_code = run.exit_code or error.exit_code
    return error


def _attend(client: Client, name: str) -> VLLMRun:
    last = client.vllm_runs.get(name)
    output = ReplicaOutput([0])
    with LiveLine() as line, ticking(lambda _tick: line.again()):
        for seen in client.vllm_runs.attend(name):
            if isinstance(seen, VLLMRun):
                last = seen
                if seen.started or seen.finished:
                    line.clear()
                else:
                    line.show(state(seen))
                continue
            line.clear()
            output.add(0, seen)
    output.end_all()
    return last


def _leave(client: Client, name: str) -> None:
    """After Ctrl-C: delete it if that is wanted, else say how to go on."""
    stops = False
    if somebody_is_here():
        click.echo(err=True)
        stops = click.confirm(f"Stop and delete `{name}`? Otherwise, it continues", err=True)
    if stops:
        client.vllm_runs.delete(name)
        click.echo(f"`{name}` was deleted", err=True)
        return
    follows, ends = command(f"vllm logs -f {name}"), command(f"vllm cleanup --name {name}")
    click.echo(f"`{name}` continues: {follows} follows it, {ends} deletes it", err=True)
