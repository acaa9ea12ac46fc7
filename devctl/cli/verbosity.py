"""How much is said: `-v` shows requests to the cluster, `-vv` where an error came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from devctl.cli.shared_option import LastSharedOption

if TYPE_CHECKING:
    from collections.abc import Callable

_META = "devctl.cli.verbosity"
_TRACEBACK = 2
_asked = 0


def wants_traceback() -> bool:
    """Whether a person asked to see where an error came from."""
    return _asked >= _TRACEBACK or bool(os.environ.get("DEVCTL_TRACEBACK"))


def verbose(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `-v`; it adds to that of its group."""
    option = click.option(
        "-v",
        "--verbose",
        cls=LastSharedOption,
        count=True,
        expose_value=False,
        callback=_keep,
        help="Show requests; -vv: tracebacks, too.",
    )
    return option(command)


def _keep(context: click.Context, _option: click.Parameter, count: int) -> None:
    global _asked  # noqa: PLW0603 - an error is printed when there is no context any more
    context.meta[_META] = context.meta.get(_META, 0) + count
    _asked = context.meta[_META]
    if count:
        import logging  # noqa: PLC0415 - few ask for it

        logging.basicConfig(format="%(message)s")
        logging.getLogger("httpx2").setLevel(logging.INFO)
