"""The commands of `devctl`; each one is imported only when it is called."""

from __future__ import annotations

import click

from devctl.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_by_path={"local": "devctl.cli.local.group:local"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="devctl")
def cli() -> None:
    """Self-service PyTorch dev servers and GPU jobs on Kubernetes."""
