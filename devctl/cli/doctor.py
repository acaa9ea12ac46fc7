"""`devctl doctor`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.options import output, where
from devctl.cli.results import print_document
from devctl.cli.screen import columns, painted
from devctl.cli.shared_options import verbose
from devctl.cli.tables import folded
from devctl.client.client import Client
from devctl.text import one_line

if TYPE_CHECKING:
    from devctl.client.findings import Finding

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "bright_black"}
_STATE, _CHECK = 9, 14
"""Widths of the columns."""
_READABLE = 40
"""The width that a sentence beside them needs; it goes below if there is less."""
_INDENT = 2


@click.command()
@output("table", "json", "yaml")
@where
@verbose
def doctor(output: str) -> int:
    """Find problems between you and your servers, and how to fix them.

    The exit code is 1 if a check fails; warnings do not count. With `-o json`, `gpus` is the
    account of all GPUs, for those who may see all nodes and pods.

    \b
    Examples:
      devctl doctor
      devctl doctor -n team -o json
    """
    from devctl.client.doctor import examine  # noqa: PLC0415 - heavy

    named = names.connection(click.get_current_context())
    found: list[Finding] = []
    for finding in examine(lambda: Client(**named).cluster):
        found.append(finding)
        if output == "table":
            first, *more = lines(finding, columns(sys.stdout))
            click.echo(painted(first[:_STATE], _COLOURS[finding.state]) + first[_STATE:])
            for line in more:
                click.echo(line)
            sys.stdout.flush()
    failed = sum(finding.state == "failed" for finding in found)
    if output != "table":
        details = {each.check: each.detail for each in found if each.detail is not None}
        print_document({"checks": [finding.raw for finding in found], **details}, output)
    elif failed:
        click.echo(f"failed: {failed} of {len(found)} checks", err=True)
    else:
        warned = sum(finding.state == "warning" for finding in found)
        but = f", with {warned} {'warning' if warned == 1 else 'warnings'}" if warned else ""
        click.echo(f"no check failed{but}", err=True)
    return 1 if failed else 0


def lines(finding: Finding, width: int) -> list[str]:
    """A finding in lines of a width; 0 for any."""
    head = f"{finding.state:<{_STATE}}{finding.check:<{_CHECK}}"
    said = [one_line(finding.found), *([f"fix: {one_line(finding.fix)}"] if finding.fix else [])]
    beside = not width or width - len(head) >= _READABLE
    indent = len(head) if beside else _INDENT
    room = max(1, width - indent) if width else 0
    found = [f"{'':<{indent}}{line}" for text in said for line in folded(text, room)]
    return [head + found[0].lstrip(), *found[1:]] if beside else [head.rstrip(), *found]
