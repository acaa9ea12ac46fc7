"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial


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

    @property
    def raw(self) -> dict[str, str]:
        """The result as a document."""
        return {name: str(value) for name, value in vars(self).items()}


# Their callers name the check.
ok = partial(Finding, "", State.OK)
warning = partial(Finding, "", State.WARNING)
failed = partial(Finding, "", State.FAILED)
skipped = partial(Finding, "", State.SKIPPED)
