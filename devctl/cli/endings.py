"""When a server is stopped or deleted whatever it does, as its page and warnings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.devserver import Condition
from devctl.cli.hold import length_of
from devctl.cli.options import command
from devctl.cli.times import age, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.servers import Server


def ending_facts(server: Server) -> Iterator[tuple[str, str]]:
    """Since when it has run or been stopped, and when that ends."""
    if server.started_at:
        yield "Started", f"{age(server.started_at)} ago"
    if server.run_ends_at:
        yield "Runs until", f"{until(server.run_ends_at)}; then it is stopped, even if it is active"
    if server.stopped_at:
        yield "Stopped", f"{age(server.stopped_at)} ago"
    if server.expires_at:
        yield "Expires", f"{until(server.expires_at)}; its files are kept"
    elif length := server.lifecycle.get("deleteAfterStopped"):
        yield "Expires", f"once it has been stopped for {length_of(length)}; its files are kept"


def run_warning(server: Server) -> str:
    """The line about a server whose run ends soon; empty if it does not."""
    soon = server.condition(Condition.RUNTIME_ENDING).get("status") == "True"
    if server.stopped or not soon or server.run_ends_at is None:
        return ""
    extend = command(f"extend {server.name} --max-runtime 4h")
    return (
        f"`{server.name}` stops {until(server.run_ends_at)} even if it is active, its files are"
        f" kept; {extend} lets it run on"
    )
