"""Variables that a person gives a run: on the line, from a file, or as secrets."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

# What other readers of such files take apart is refused: it would silently mean another thing.
_VALUE = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>[^"\\$`]*)"|(?P<plain>(?:(?!\s\#|\$[{(])[^'"`])*)"""
)


def variables(given: Sequence[str], files: Sequence[str], secrets: Sequence[str]) -> dict[str, str]:
    """The variables of `--env-file`, `--env` and `--secret`; of one that is there twice the last.

    A secret is taken from this process's environment; a person is asked for one that is not there.

    Raises:
        NotFoundError: There is no such file.
        UsageError: Something else than variables was given, or nobody can be asked.
    """
    found: dict[str, str] = {}
    for path in files:
        found |= parse(_read(path), path)
    for word in given:
        name, equals, value = word.partition("=")
        _check(name)
        if not equals:
            raise UsageError(
                f"--env `{name}` has no value", f"write `{name}=VALUE`, or `--secret {name}`"
            )
        found[name] = value
    for name in secrets:
        found[name] = _secret(name)
    return found


def parse(text: str, path: str = ".env") -> dict[str, str]:
    """What a file of variables says.

    A line is NAME=VALUE, `export` may stand before it, and quotes around VALUE are left out.
    Escapes, comments behind a value and references to other variables are refused.

    >>> parse("# tokens\\nexport A = 'b c'\\nD=e=f")
    {'A': 'b c', 'D': 'e=f'}

    Raises:
        UsageError: A line says something else.
    """
    from devctl.client.runs.command import NAME  # noqa: PLC0415 - heavy
    from devctl.text import readable  # noqa: PLC0415 - heavy

    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        name, equals, text_of_it = words.removeprefix("export ").partition("=")
        value = _VALUE.fullmatch(text_of_it.strip())
        if not equals or not value or not NAME.fullmatch(name.strip()):
            # The line is not shown: it may hold a secret.
            raise UsageError(
                f"line {number} of `{readable(path)}` is not a plain NAME=VALUE",
                "use single quotes; escapes, ${...} and comments behind a value are not read",
            )
        found[name.strip()] = value[value.lastgroup or 0]
    return found


def _read(path: str) -> str:
    from devctl.text import readable  # noqa: PLC0415 - heavy

    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        shown = readable(path)
        raise NotFoundError(f"there is no file `{shown}` here", "check the path") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"`{readable(path)}` is not UTF-8", "name a text file") from error


def _check(name: str) -> None:
    from devctl.client.runs.command import check_name  # noqa: PLC0415 - heavy

    check_name(name)


def _secret(name: str) -> str:
    if "=" in name:
        raise UsageError(
            f"--secret takes a name only: `{name.partition('=')[0]}`",
            "set it in your environment, or leave it to devctl to ask for it",
        )
    _check(name)
    if value := os.environ.get(name):
        return value
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"`{name}` is not set, and nobody is here to be asked", f"set `{name}`, and repeat it"
        )
    return str(click.prompt(f"{name}", err=True, hide_input=True))
