"""As plugins/devserver/values.py, for the action `apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.values import Values

if TYPE_CHECKING:
    from collections.abc import Mapping


def identity(owner: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = owner["given"]["identity"]
    return found


def values(owner: Mapping[str, Any]) -> Values:
    return Values(owner["given"]["names"])
