"""`devctl apply`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from devctl.cli import names
from devctl.cli.options import connected, dry_run_option
from devctl.cli.results import Results, changes
from devctl.errors import DevctlError, UsageError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.client import Client
    from devctl.client.manifests import Manifest

_HOW = {"none": "", "client": " (dry run)", "server": " (server dry run)"}


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    required=True,
    multiple=True,
    type=click.Path(allow_dash=True),
    metavar="FILE|DIR|-",
    help="YAML or JSON; a folder's files; `-` is standard input.",
)
@click.option("--force-conflicts", is_flag=True, help="Take over fields that others manage.")
@dry_run_option
@changes()
@connected
def apply(
    client: Client, files: Sequence[str], dry_run: str, results: Results, *, force_conflicts: bool
) -> int:
    """Create or change servers, flavors and jobs as files describe them.

    This is a server-side apply, as field manager `devctl`: fields that are not in a file stay as
    they are, and conflicts name the other managers. All files are checked before the first change.

    \b
    Examples:
      devctl apply -f lab.yaml
      devctl describe lab -o yaml | devctl apply -f - --dry-run=server
    """
    from devctl.client import manifests as applying  # noqa: PLC0415 - heavy

    manifests = applying.read(files, sys.stdin)
    _check_namespaces(manifests)
    first: DevctlError | None = None
    for manifest in manifests:
        resource = manifest.title.partition("/")[0]
        if dry_run == "client":
            shown = applying.Applied(manifest.document)
            results.add(shown, f"applied{_HOW[dry_run]}", resource)
            continue
        try:
            done = applying.apply(
                client.cluster, manifest, force=force_conflicts, dry_run=dry_run == "server"
            )
        except DevctlError as error:
            # The others are still applied, as in kubectl.
            click.echo(f"{one_line(manifest.title)}: {error.message}", err=True)
            click.echo(f"  fix: {error.fix}", err=True)
            first = first or error
        else:
            results.add(done, done.did + _HOW[dry_run], resource)
    return first.exit_code if first else 0


def _check_namespaces(manifests: Sequence[Manifest]) -> None:
    """Refuse objects of another namespace than the command line's."""
    asked = names.named(click.get_current_context()).get("namespace")
    for manifest in manifests:
        other = manifest.document["metadata"].get("namespace")
        if asked and other and manifest.kind.namespaced and other != asked:
            raise UsageError(
                f"{manifest.title} is of namespace `{other}`, and -n names `{asked}`",
                "leave out -n, or metadata.namespace",
            )
