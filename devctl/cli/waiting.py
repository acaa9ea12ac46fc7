"""Waiting for servers, with a line that says for what."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from devctl.api.devserver import Condition
from devctl.cli.options import command, preference, seconds
from devctl.cli.screen import LiveLine, is_terminal
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.cli.results import Results
    from devctl.client.client import Client
    from devctl.client.jobs.job import Job
    from devctl.client.servers import Server
    from devctl.client.vllm.run import VLLMRun
    from devctl.client.workloads.workload import Workload

_TICK = 1.0

waits = click.option(
    "--wait/--no-wait",
    default=preference("wait"),
    callback=lambda _context, _option, asked: is_terminal(sys.stdout) if asked is None else asked,
    help="Wait until done (default on a terminal).",
)
patience = click.option(
    "--timeout",
    type=seconds,
    metavar="D",
    default=preference("timeout", "10m"),
    help="Stop waiting after this long.  [default: 10m]",
)
"""How many seconds to wait at most."""


def state(found: Server | Job | Workload | VLLMRun) -> str:
    """The phase of a server, a job or a run and the reason, in one line."""
    if not found.reason or (found.reason == found.phase and not found.message):
        return f"{found.name}: {found.phase}"
    because = "" if found.reason == found.phase else f" ({found.reason})"
    why = f": {found.message}" if found.message else ""
    return f"{found.name}: {found.phase}{because}{why}"


def showing(line: LiveLine) -> Callable[[Server], None]:
    """What shows the state of a server on a line."""
    return lambda seen: line.show(state(seen))


def see_started(
    client: Client,
    server: Server,
    results: Results,
    timeout: float,
    *,
    wait: bool,
    first: str = "asked to start",
    look: str = "describe",
) -> None:
    """Wait up to `timeout` seconds until a server is ready, or say how to look at it.

    Raises:
        DevctlError: It cannot start, or takes longer.
    """
    name = server.name
    if not wait:
        if not results.quiet:
            click.echo(f"see its state with {command(f'{look} {name}')}", err=True)
        return
    left = f"`{name}` keeps starting: see {command(f'status {name} --watch')}"
    with live_line(name, first, left) as line:

        def progress(seen: Server) -> None:
            if seen.reason or seen.phase != "Pending":  # else there is nothing to say yet
                line.show(state(seen))

        ready = client.servers.wait_ready(name, timeout, progress)
    use = f"ssh {name}" if ready.ssh else f"exec {name} -- bash"
    click.echo(f"`{name}` is ready; next: {command(use)}", err=True)
    results.add(ready, "ready")


def say_restart(client: Client, server: Server) -> None:
    """Say which changes of a server wait for its next start, once the observer has seen them."""
    seen = client.servers.wait_seen(server.name)
    found = seen.condition(Condition.RESTART_REQUIRED)
    if found.get("status") == "True":
        click.echo(f"{Condition.RESTART_REQUIRED}: {one_line(found.get('message', ''))}", err=True)
        click.echo(f"next: {command(f'restart {server.name}')}", err=True)


@contextmanager
def live_line(name: str, first: str, left: str) -> Iterator[LiveLine]:
    """A line about what is waited for: at first in a state; `left` is said if Ctrl-C ends it."""
    with LiveLine() as line:
        line.show(f"{name}: {first}")
        try:
            with ticking(lambda _: line.again()):
                yield line
        except KeyboardInterrupt:
            line.clear()
            click.echo(left, err=True)
            raise


@contextmanager
def ticking(tick: Callable[[int], None]) -> Iterator[None]:
    """Call something every second, with the number of calls before it."""
    over = threading.Event()

    def run() -> None:
        count = 0
        while not over.wait(_TICK):
            tick(count)
            count += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
