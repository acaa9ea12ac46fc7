"""Waiting for something in the cluster, with a line that says for what."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from devctl.cli.options import command
from devctl.cli.screen import LiveLine, is_terminal
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.cli.results import Results
    from devctl.client.client import Client
    from devctl.client.servers import Server

_TICK = 1.0


def wanted(*, wait: bool | None) -> bool:
    """Whether to wait: as was asked for, else where a person looks on."""
    return is_terminal(sys.stdout) if wait is None else wait


def state(server: Server) -> str:
    """What a server does and why, in one line."""
    if server.reason in {"", server.phase} and not server.message:
        return f"{server.name}: {server.phase}"
    why = f": {server.message}" if server.message else ""
    return f"{server.name}: {server.phase} ({server.reason}){why}"


def see_ready(client: Client, name: str, timeout: float, first: str) -> Server:
    """Show what a server waits for until it can be used, and then how to use it.

    Raises:
        DevctlError: It cannot be, or not in time.
    """
    goes_on = f"`{name}` keeps starting: see {command(f'status {name} --watch')}"
    with live_line(name, first, goes_on) as line:

        def progress(seen: Server) -> None:
            if seen.reason or seen.phase != "Pending":  # else there is nothing to say yet
                line.show(state(seen))

        server = client.servers.wait_ready(name, timeout, progress)
    use = f"ssh {name}" if server.ssh else f"exec {name} -- bash"
    click.echo(f"`{name}` is ready; next: {command(use)}", err=True)
    return server


def see_started(
    client: Client,
    servers: Sequence[Server],
    results: Results,
    timeout: float,
    look: str,
    *,
    wait: bool | None,
) -> None:
    """Wait for servers that start, or say how to look at them.

    Args:
        client: The SDK.
        servers: Which.
        results: What is told that they are ready.
        timeout: Seconds for each at most.
        look: The command that shows what one does.
        wait: As `wanted` has it.
    """
    for server in servers:
        if wanted(wait=wait):
            results.add(see_ready(client, server.name, timeout, "asked to start"), "ready")
        elif not results.quiet:
            click.echo(f"see what it does with {command(f'{look} {server.name}')}", err=True)


def see_stopped(client: Client, name: str, timeout: float) -> Server:
    """Show what still runs of a server until it has stopped.

    Raises:
        DevctlError: It was started meanwhile, or has not stopped in time.
    """
    goes_on = f"`{name}` keeps stopping: see {command(f'status {name} --watch')}"
    with live_line(name, "asked to stop", goes_on) as line:
        return client.servers.wait_stopped(name, timeout, progress=lambda s: line.show(state(s)))


def say_restart(client: Client, server: Server) -> None:
    """Say which changes of a server wait for its next start, once the observer has looked."""
    from devctl.api.devserver import Condition  # noqa: PLC0415 - for annotations elsewhere

    seen = client.servers.wait_seen(server.name)
    found = seen.condition(Condition.RESTART_REQUIRED)
    if found.get("status") == "True":
        click.echo(f"{Condition.RESTART_REQUIRED}: {one_line(found.get('message', ''))}", err=True)
        click.echo(f"next: {command(f'restart {server.name}')}", err=True)


@contextmanager
def live_line(name: str, first: str, goes_on: str) -> Iterator[LiveLine]:
    """A line about something that is waited for, from the start.

    Args:
        name: What is waited for.
        first: What is said of it before anything is known.
        goes_on: What is said where the person stops waiting with Ctrl-C.
    """
    over = threading.Event()
    with LiveLine() as line:
        line.show(f"{name}: {first}")
        ticker = threading.Thread(target=_tick, args=(line, over), daemon=True)
        ticker.start()
        try:
            yield line
        except KeyboardInterrupt:
            line.clear()
            click.echo(goes_on, err=True)
            raise
        finally:
            over.set()
            ticker.join()


def _tick(line: LiveLine, over: threading.Event) -> None:
    while not over.wait(_TICK):
        line.again()
