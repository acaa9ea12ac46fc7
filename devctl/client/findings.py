"""What checks find: whether something is wrong, and its fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(StrEnum):
    """How a check went."""

    OK = "ok"
    WARNING = "warning"
    """Something does not work, but everything else does."""
    FAILED = "failed"
    """Nothing works until it is fixed."""
    SKIPPED = "skipped"
    """It could not be checked."""


@dataclass(frozen=True)
class Finding:
    """The result of one check: what was found, and the fix if something is wrong."""

    check: str
    state: State
    found: str
    fix: str = ""
    detail: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """What was looked at, for programs, if it is more than a sentence."""

    @property
    def raw(self) -> dict[str, str]:
        """The result as a document, without the detail."""
        return {name: str(value) for name, value in vars(self).items() if name != "detail"}


# Their callers name the check.
ok = partial(Finding, "", State.OK)
warning = partial(Finding, "", State.WARNING)
failed = partial(Finding, "", State.FAILED)
skipped = partial(Finding, "", State.SKIPPED)
