"""`devctl config`: a person's defaults."""

from __future__ import annotations

import click

from devctl.cli.lazy import SectionedGroup
from devctl.cli.options import output
from devctl.cli.results import print_document
from devctl.cli.tables import table
from devctl.client import settings as preferences
from devctl.errors import NotFoundError


def _keys(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    return [key for key in preferences.KEYS if key.startswith(begun)]


def _values(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    key = preferences.KEYS.get(str(context.params.get("key")))
    words = ("true", "false") if key and key.kind == "truth" else key.choices if key else ()
    return [word for word in words if word.startswith(begun)]


_key = click.argument("key", metavar="KEY", shell_complete=_keys)


@click.group(cls=SectionedGroup)
def config() -> None:
    """Your defaults, in ~/.config/devctl/config.toml.

    An option overrides $DEVCTL_<KEY>, which overrides the file.

    \b
    Examples:
      devctl config set namespace dev-alice
      devctl config set output wide
    """


@config.command("list", short_help="List settings, and where they come from")
@output("table", "json", "yaml")
def list_(output: str) -> None:
    """List settings, and where they come from.

    \b
    Examples:
      devctl config list
    """
    found = {key: preferences.preferred(key) for key in preferences.KEYS}
    if output != "table":
        known = {key: _listed(key, value) for key, (value, _) in found.items() if value is not None}
        print_document(known, output)
        return
    rows = [
        (key, "" if value is None else _shown(_listed(key, value)), where or "(not set)")
        for key, (value, where) in found.items()
    ]
    for line in table(["KEY", "VALUE", "FROM"], rows):
        click.echo(line)


@config.command(short_help="Print a setting")
@_key
def get(key: str) -> None:
    """Print a setting; the exit code is 3 if it is not set.

    \b
    Examples:
      devctl config get namespace
    """
    preferences.check_key(key)
    value, _ = preferences.preferred(key)
    if value is None:
        raise NotFoundError(f"`{key}` is not set", f"set it with `devctl config set {key} VALUE`")
    click.echo(_shown(value))


@config.command("set", short_help="Save a setting")
@_key
@click.argument("value", metavar="VALUE", shell_complete=_values)
def set_(key: str, value: str) -> None:
    """Save a setting. The file keeps its comments.

    \b
    Examples:
      devctl config set flavor gpu-large
      devctl config set wait false
    """
    preferences.save(key, value)
    click.echo(f"{key} set in {preferences.path()}", err=True)


@config.command(short_help="Remove a setting")
@_key
def unset(key: str) -> None:
    """Remove a setting.

    \b
    Examples:
      devctl config unset flavor
    """
    preferences.forget(key)
    click.echo(f"{key} removed from {preferences.path()}", err=True)


@config.command(short_help="Print the path of the file")
def path() -> None:
    """Print the path of the file, which need not exist.

    \b
    Examples:
      devctl config path
    """
    click.echo(str(preferences.path()))


def _listed(key: str, value: object) -> object:
    """A value for a list, which others may see over one's shoulder: secrets are left out."""
    return "(hidden)" if preferences.KEYS[key].kind == "secret" else value


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
