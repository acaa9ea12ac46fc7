"""`devctl local`: registers its commands."""

from __future__ import annotations

import click

from devctl.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_by_path={
        name: f"devctl.cli.local.{name}:{name}"
        for name in ("up", "down", "status", "reset", "logs", "load")
    },
)
def local() -> None:
    """A real Kubernetes on this machine, for trying things out and for tests."""
