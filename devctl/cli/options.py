"""Options that several commands share, and the connection that they lead to."""

from __future__ import annotations

import functools
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from devctl.api.durations import parse_duration
from devctl.cli import names
from devctl.cli.formats import OutputFormat
from devctl.cli.screen import is_terminal
from devctl.cli.shared_options import RareOption, SharedOption, verbose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Command = Callable[..., Any]

_OPTIONS = {"namespace": "-n", "context": "--context", "kubeconfig": "--kubeconfig"}


def duration(value: int | str) -> int | str:
    """The type of an option that takes a duration: seconds, or text such as `90m`, `1d12h`.

    >>> duration("90"), duration("90m")
    (90, '90m')
    """
    whole = int(value) if str(value).isdecimal() and str(value).isascii() else value
    try:
        parse_duration(whole)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error)) from error
    return whole


def seconds(value: int | str) -> float:
    """The type of an option that takes a duration and gives seconds.

    >>> seconds("1m30s")
    90.0
    """
    return parse_duration(duration(value)).total_seconds()


seconds.__name__ = "duration"  # what click's messages call the type


def preference(key: str, otherwise: object = None) -> Callable[[], Any]:
    """The default of an option: the person's own, else `otherwise`."""

    def default() -> Any:
        from devctl.client.settings import preferred  # noqa: PLC0415 - not for --help

        found, _ = preferred(key)
        return otherwise if found is None else found

    return default


def stacked(*options: Command) -> Callable[[Command], Command]:
    """One decorator that gives a command several options, in this order."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give


def where(command: Command) -> Command:
    """Give a command the options that choose cluster and namespace; see `names.named`."""
    for flags, kind, metavar, complete, text in (
        (["--request-timeout"], RareOption, "D", None, "Limit per request: 30s, 2m; 0: none."),
        (["--kubeconfig"], SharedOption, "FILE", None, "Default: $KUBECONFIG, ~/.kube/config."),
        (["--context"], SharedOption, "NAME", None, "Default: the current context."),
        (["-n", "--namespace"], None, "NAME", names.namespaces, "Default: the context's."),
    ):
        command = click.option(
            *flags,
            cls=kind,
            type=seconds if kind is RareOption else None,
            metavar=metavar,
            shell_complete=complete,
            help=text,
            expose_value=False,
            callback=_keep,
        )(command)
    return command


def _keep(context: click.Context, option: click.Parameter, value: str | float | None) -> None:
    if value is not None:
        context.meta[names.KEY + str(option.name)] = value


def connected(command: Command) -> Command:
    """Give a command a client for the cluster and namespace of its command line.

    Options after the command's name override those before it. Its results are printed at the end.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from devctl.client.client import Client  # noqa: PLC0415 - not for --help

        client = Client(**names.connection(click.get_current_context()))
        code = command(client, *args, **kwargs)
        if results := kwargs.get("results"):
            results.print()
        # Last, so that nobody waits for it.
        if _is_for_people():
            from devctl.cli.notices import say_notices  # noqa: PLC0415 - not for --help

            say_notices(client)
        return code

    return where(verbose(run))


def _is_for_people() -> bool:
    """Whether a person reads what this command says, rather than a program."""
    sources = map(click.get_current_context().get_parameter_source, ("output", "results"))
    return is_terminal(sys.stderr) and click.core.ParameterSource.COMMANDLINE not in sources


def command(words: str, program: str = "devctl") -> str:
    """A command to recommend, for the cluster and namespace of this command line."""
    context = click.get_current_context(silent=True)
    places = names.named(context) if context else {}
    named = "".join(
        f" {option} {shlex.quote(str(places[name]))}"
        for name, option in _OPTIONS.items()
        if places.get(name)
    )
    return f"`{program} {words}{named}`"


def output(*formats: str) -> Command:
    """The `-o` of a command that shows something; the first format is the default."""
    kind = OutputFormat(formats)

    def default() -> str:
        found = preference("output")() if "wide" in formats else None
        return str(found) if found in formats else formats[0]

    text = f"{kind.listed}.  [default: {formats[0]}]"
    return click.option("-o", "--output", type=kind, metavar="FORMAT", default=default, help=text)


def unique(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> list[str]:
    """The callback of an argument that takes names: in the order given, without repetitions."""
    return list(dict.fromkeys(given))


dry_run_option = click.option(
    "--dry-run",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="Show it, or have the API server check it.",
)
replica_option = click.option(
    "--replica", type=click.IntRange(min=0), default=0, metavar="K", help="The replica, from 0."
)
user_option = click.option(
    "--user", metavar="U", default="dev", show_default=True, help="Name of user 1000 in the image."
)
secrets_option = click.option(
    "--include-secrets", "secrets", is_flag=True, help="Send .env files, keys and tokens too."
)
sends = stacked(
    secrets_option, click.option("--large", is_flag=True, help="Send files over 1 GiB too.")
)
"""For a command that sends files: what to send that it leaves out by default."""
server_name = click.argument("name", metavar="NAME", shell_complete=names.servers)
server_names = click.argument(
    "servers",
    nargs=-1,
    required=True,
    metavar="NAME...",
    shell_complete=names.servers,
    callback=unique,
)
