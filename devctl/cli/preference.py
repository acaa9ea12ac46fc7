"""What options are where nobody gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def preference(key: str, otherwise: object = None) -> Callable[[], Any]:
    """What an option is where nobody gives it: as the person prefers, else something else."""

    def default() -> Any:
        from devctl.client.settings import preferred  # noqa: PLC0415 - not for --help

        found, _ = preferred(key)
        return otherwise if found is None else found

    return default
