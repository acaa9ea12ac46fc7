"""Options that several commands share, and the connection that they lead to."""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Any

import click

from devctl.api.durations import parse_duration
from devctl.cli import names
from devctl.cli.formats import OutputFormat
from devctl.cli.preference import preference
from devctl.cli.shared_option import RareOption, SharedOption
from devctl.cli.skew import warn
from devctl.cli.verbosity import verbose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Command = Callable[..., Any]

_OPTIONS = {"namespace": "-n", "context": "--context", "kubeconfig": "--kubeconfig"}


def where(command: Command) -> Command:
    """Give a command the options that say which cluster and namespace; see `names.named`."""
    for flags, kind, metavar, complete, text in (
        (["--request-timeout"], RareOption, "D", None, "For each answer: 30s, 2m; 0 for ever."),
        (["--kubeconfig"], SharedOption, "FILE", None, "Else $KUBECONFIG, ~/.kube/config."),
        (["--context"], SharedOption, "NAME", None, "Context; else the current one."),
        (["-n", "--namespace"], None, "NAME", names.namespaces, "Namespace; else the context's."),
    ):
        command = click.option(
            *flags,
            cls=kind,
            type=_seconds if kind is RareOption else None,
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


def _seconds(value: str) -> float:
    return seconds(duration(value))


# What click's own messages call it.
_seconds.__name__ = "duration"


def connected(command: Command) -> Command:
    """Give a command a client for the cluster and namespace that its line names.

    Those after the command's name go before those in front of it.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from devctl.client.client import Client  # noqa: PLC0415 - heavy

        client = Client.connect(**names.connection(click.get_current_context()))
        result = command(client, *args, **kwargs)
        # When the person has what they asked for.
        warn(client)
        return result

    return where(verbose(run))


def command(words: str, program: str = "devctl") -> str:
    """A command to show to a person, for the cluster and namespace that they named."""
    context = click.get_current_context(silent=True)
    places = names.named(context) if context else {}
    named = "".join(
        f" {option} {shlex.quote(str(places[name]))}"
        for name, option in _OPTIONS.items()
        if places.get(name)
    )
    return f"`{program} {words}{named}`"


def output(*formats: str) -> Command:
    """Give a command that shows something `-o`; the first format is what it prints without."""
    kind = OutputFormat(formats)

    def default() -> str:
        found = preference("output")() if "wide" in formats else None
        return str(found) if found in formats else formats[0]

    return click.option(
        "-o",
        "--output",
        type=kind,
        metavar="FORMAT",
        default=default,
        help=f"{kind.choices}.  [default: {formats[0]}]",
    )


_RESULT = OutputFormat(("name", "json", "yaml"))

result_output = click.option(
    "-o", "--output", type=_RESULT, metavar="FORMAT", help=f"{_RESULT.choices}."
)
"""`-o` of a command that changes something: without, a line says what it did."""

all_namespaces = click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces.")

watch_option = click.option(
    "-w", "--watch", is_flag=True, help="Keep showing changes until Ctrl-C."
)


def duration(value: int | str) -> int | str:
    """An option's value that is a duration: seconds, or text such as `90m`, `1d12h`.

    >>> duration("90"), duration("90m")
    (90, '90m')
    """
    whole = int(value) if str(value).isdecimal() and str(value).isascii() else value
    try:
        parse_duration(whole)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error)) from error
    return whole


# What click's own messages call it.
duration.__name__ = "duration"


def seconds(length: int | str) -> float:
    """How many seconds a duration is.

    >>> seconds("1m30s")
    90.0
    """
    return parse_duration(length).total_seconds()


waits = click.option(
    "--wait/--no-wait",
    default=preference("wait"),
    help="Wait until done (default on a terminal).",
)
"""Whether a command waits for what it has asked for; see devctl.cli.waiting.wanted."""

dry_run_option = click.option(
    "--dry-run",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="Show it, or have the API server check it.",
)

patience = click.option(
    "--timeout",
    type=duration,
    metavar="D",
    default=preference("timeout", "10m"),
    help="Stop waiting after this long.  [default: 10m]",
)
"""How long a command waits that waits."""

server_name = click.argument("name", metavar="NAME", shell_complete=names.servers)

server_names = click.argument(
    "servers", nargs=-1, required=True, metavar="NAME...", shell_complete=names.servers
)


def unique(given: Sequence[str]) -> list[str]:
    """Names as they were given, each once."""
    return list(dict.fromkeys(given))
