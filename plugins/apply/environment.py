"""The environment of a container, as its manifest has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def entries(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of `env`, which the kubelet hands on as they were.

    It would put a variable in the place of `$(NAME)`, and reads two dollars as one.

    >>> entries({"A": "$(HOME) $$"})
    [{'name': 'A', 'value': '$$(HOME) $$$$'}]
    """
    return [{"name": key, "value": str(value).replace("$", "$$")} for key, value in values.items()]
