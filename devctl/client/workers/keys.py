"""API keys of the GPU workers API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from devctl.client.workers.generated.models import NewKey, Rotation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.workers.generated.calls import Calls
    from devctl.client.workers.generated.models import Key, MadeKey


class WorkerKeys:
    """Keys of one's account, which are used as tokens."""

    def __init__(self, api: Calls) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

    def list(self) -> Iterator[Key]:
        """All, the newest first, and those that have ended, too."""
        return self._api.list_keys()

    def create(self, name: str, *, seconds: int | None = None) -> MadeKey:
        """Make a key, which needs a login: a key makes none.

        Args:
            name: What it is for.
            seconds: How long it is valid; None for 90 days.
        """
        # A repetition is not shown the key again: it is better to be told that the answer was lost.
        lasts = UNSET if seconds is None else seconds
        return self._api.create_key(NewKey(name=name, expires_in_seconds=lasts))

    def rotate(self, key_id: str, *, overlap: int | None = None) -> MadeKey:
        """Make a key in a valid one's place, which stays valid for a while.

        Args:
            key_id: The old one.
            overlap: For how many seconds; None for ten minutes, 0 ends it now.
        """
        lasts = UNSET if overlap is None else overlap
        return self._api.rotate_key(key_id, Rotation(overlap_seconds=lasts))

    def revoke(self, key_id: str) -> None:
        """End a key now; nothing if it has ended already."""
        self._api.revoke_key(key_id)
