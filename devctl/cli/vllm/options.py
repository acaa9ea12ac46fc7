"""What commands of `k8shazgpu` share, which are commands of `devctl`, too."""

from __future__ import annotations

import click

from devctl.cli import names, options

run_name = click.argument("name", metavar="RUN", shell_complete=names.vllm_runs)


def command(words: str) -> str:
    """A command to show, of the program that was called, with cluster and namespace."""
    context = click.get_current_context(silent=True)
    program = context.find_root().info_name if context else None
    return options.command(words, program or "devctl")


def labels(
    _context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str] | None:
    """The callback of an option that takes labels as `K=V`, more than once; None for no such."""
    found = dict(pair.partition("=")[::2] for pair in given)
    if not all(found) or any("=" not in pair for pair in given):
        raise click.BadParameter("a label is written as `NAME=VALUE`", param=option)
    return found or None


nodes = click.option(
    "--node-selector",
    "nodes",
    multiple=True,
    metavar="K=V",
    callback=labels,
    help="For nodes with this label only.",
)
