"""`devctl edit`."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.cli.confirm import somebody_is_here
from devctl.cli.options import connected, server_name
from devctl.cli.results import Results, changes
from devctl.cli.waiting import say_restart
from devctl.errors import DevctlError, HostError, NotFoundError

if TYPE_CHECKING:
    from devctl.client.client import Client
    from devctl.client.servers import Server


@click.command()
@server_name
@changes()
@connected
def edit(client: Client, name: str, results: Results) -> None:
    """Change a server's spec in $VISUAL, else $EDITOR, else vi.

    If the API server refuses the edit, the editor opens again and shows the reason. Save it
    unchanged to give up; your file is kept.

    \b
    Examples:
      devctl edit my-dev
      EDITOR='code --wait' devctl edit my-dev
    """
    server = client.servers.get(name)
    descriptor, path = tempfile.mkstemp(prefix=f"devctl-edit-{name}-", suffix=".yaml")
    os.close(descriptor)
    changed = _edited(client, server, Path(path))
    if changed is None:
        click.echo("nothing changed", err=True)
        click.get_current_context().exit()
    results.add(changed, "edited")
    if not results.quiet:
        say_restart(client, changed)


def _edited(client: Client, server: Server, file: Path) -> Server | None:
    """The changed server, None if nothing changed; the file is deleted unless this gives up."""
    from devctl.client.manifests import difference, spec_of, text_of  # noqa: PLC0415 - heavy

    what = f"devserver/{server.name}"
    shown = text_of(server.spec, what)
    refused: DevctlError | None = None
    while True:
        text = _in_editor(file, shown)
        try:
            if text == shown and refused:
                raise _kept(file, refused)
            spec = spec_of(text)
            change = {} if spec is None else difference(server.spec, spec)
            changed = client.servers.edit(server, change) if change else None
        except KeyboardInterrupt:
            click.echo(f"your edit is kept in {file}", err=True)
            raise
        except NotFoundError as error:
            raise _kept(file, error) from error
        except DevctlError as error:
            if error is refused:
                raise
            refused = error
            shown = text_of(server.spec, what, error.message, text)
            if not somebody_is_here():
                # A program that edits would be asked forever.
                file.write_text(shown, encoding="utf-8")
                raise _kept(file, error) from error
            continue
        file.unlink()
        return changed


def _in_editor(file: Path, text: str) -> str:
    """Have a person edit a text; it stays in the file if the editor fails."""
    file.write_text(text, encoding="utf-8")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.call([*shlex.split(editor), str(file)])
    except (OSError, ValueError) as error:
        why = f"cannot start the editor `{editor}`: {error}"
        raise HostError(why, f"set VISUAL or EDITOR; the text is kept in {file}") from error
    if code:
        raise HostError(f"the editor `{editor}` ended with code {code}", f"your edit is in {file}")
    return file.read_text(encoding="utf-8", errors="replace")


def _kept(file: Path, error: DevctlError) -> DevctlError:
    error.fix = f"your edit is kept in {file}"
    return error
