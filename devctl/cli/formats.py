"""`-o`: the format in which a command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

    _Text = click.ParamType[str]
else:
    # click 8.2 has no type arguments.
    _Text = click.ParamType

JSONPATH = "jsonpath="
"""The start of a format that is an expression."""
TABLES = ("table", "wide")
FORMATS = (*TABLES, "json", "yaml", "name")


class OutputFormat(_Text):
    """One of some words, or `jsonpath=` and an expression, which is checked before anything runs.

    >>> OutputFormat(["json", "yaml"]).choices
    "json, yaml, jsonpath='{…}'"
    """

    name = "format"

    def __init__(self, words: Sequence[str]) -> None:
        """Take the words."""
        self._words = words
        self.choices = ", ".join([*words, f"{JSONPATH}'{{…}}'"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check a format."""
        text = str(value)
        if text.startswith(JSONPATH):
            from devctl.client.jsonpath import template  # noqa: PLC0415 - rarely used

            template(text.removeprefix(JSONPATH))
        elif text not in self._words:
            self.fail(f"`{text}` is not a format; use {self.choices}", param, ctx)
        return text

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the words."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only this needs it

        words = [*self._words, JSONPATH]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def is_document(output: str | None) -> bool:
    """Whether a format prints whole objects, or parts of them, for programs."""
    return output in {"json", "yaml"} or bool(output and output.startswith(JSONPATH))


def chosen_format(output: str) -> str:
    """The format if the command line chose it, else `table`: preferences do not count."""
    source = click.get_current_context().get_parameter_source("output")
    return output if source is click.core.ParameterSource.COMMANDLINE else "table"
