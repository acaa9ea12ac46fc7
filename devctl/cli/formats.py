"""`-o`: the format in which a command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

JSONPATH = "jsonpath="
"""The start of a format that is an expression."""
TABLES = ("table", "wide")
FORMATS = (*TABLES, "json", "yaml", "name")


class OutputFormat(click.Choice[str]):
    """One of some words, or `jsonpath=` and an expression, which is checked before anything runs.

    >>> OutputFormat(["json", "yaml"]).listed
    "json, yaml, jsonpath='{…}'"
    """

    name = "format"

    def __init__(self, words: Sequence[str]) -> None:
        """Take the words."""
        super().__init__([*words, JSONPATH])
        self.listed = ", ".join([*words, f"{JSONPATH}'{{…}}'"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check a format."""
        text = str(value)
        if text.startswith(JSONPATH):
            from devctl.client.jsonpath import template  # noqa: PLC0415 - rarely used

            template(text.removeprefix(JSONPATH))
        elif text not in self.choices:
            self.fail(f"`{text}` is not a format; use {self.listed}", param, ctx)
        return text


def is_document(output: str | None) -> bool:
    """Whether a format prints whole objects, or parts of them, for programs."""
    return output in {"json", "yaml"} or bool(output and output.startswith(JSONPATH))


def chosen_format(output: str) -> str:
    """The format if the command line chose it, else `table`: preferences do not count."""
    source = click.get_current_context().get_parameter_source("output")
    return output if source is click.core.ParameterSource.COMMANDLINE else "table"
