"""`devctl update`, `devctl extend` and `devctl edit`."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devctl.api.durations import parse_duration
from devctl.cli.confirm import somebody_is_here
from devctl.cli.create import chosen, server_options
from devctl.cli.options import connected, duration, server_name, server_names
from devctl.cli.results import Results, changes
from devctl.cli.times import until
from devctl.cli.waiting import say_restart
from devctl.errors import DevctlError, HostError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from devctl.client.client import Client
    from devctl.client.lifetimes import Extension
    from devctl.client.servers import Server


@click.command()
@server_name
@server_options(new=False)
@changes()
@connected
def update(client: Client, name: str, results: Results, **asked: Any) -> None:
    """Change a server's spec; what is not named stays as it is.

    A running server keeps its pods: changes to them take effect at the next start, and
    RestartRequired names them. Homes only grow. `devctl extend` changes its time to live.

    \b
    Examples:
      devctl update my-dev --flavor gpu-large
      devctl update training-job --replicas 8 --nccl NCCL_DEBUG=INFO
    """
    server = client.servers.get(name)
    changed = client.servers.update(server, **chosen(**asked))
    results.add(changed, "unchanged" if changed.spec == server.spec else "updated")
    if not results.quiet:
        say_restart(client, changed)


@click.command()
@server_names
@click.option("--ttl", type=duration, metavar="D", help="Keep it this long from now, e.g. 3d.")
@click.option("--idle", type=duration, metavar="D", help="Stop it after being idle for this long.")
@click.option(
    "--max-runtime", type=duration, metavar="D", help="Let it run this long from now, e.g. 12h."
)
@click.option(
    "--delete-after-stopped",
    type=duration,
    metavar="D",
    help="Keep it this long while it is stopped.",
)
@changes()
@connected
def extend(
    client: Client, servers: Sequence[str], results: Results, **by: Unpack[Extension]
) -> None:
    """Give servers more time before they are stopped or deleted.

    \b
    Examples:
      devctl extend my-dev --ttl 3d
      devctl extend my-dev --idle 8h --max-runtime 12h
    """
    for server in [client.servers.get(name) for name in servers]:
        changed = client.servers.extend(server, **by)
        results.add(changed, "extended")
        if by.get("ttl") is not None and not results.quiet:
            # By its spec, as its status is a moment late.
            expires = changed.created_at + parse_duration(changed.lifecycle["timeToLive"])
            click.echo(f"it expires {until(expires)}; its files are kept", err=True)


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
