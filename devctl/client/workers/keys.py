"""API keys of the GPU workers API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.client.workers.api import Api, part
from devctl.client.workers.pages import all_pages
from devctl.client.workers.records import Key, MadeKey

if TYPE_CHECKING:
    from collections.abc import Iterator


class WorkerKeys:
    """Keys of one's account, which are used as tokens."""

    def __init__(self, api: Api) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

    def list(self) -> Iterator[Key]:
        """All, the newest first, and those that have ended, too."""
        return all_pages(self._api, Key, "keys/")

    def create(self, name: str, *, seconds: int | None = None) -> MadeKey:
        """Make a key, which needs a login: a key makes none.

        Args:
            name: What it is for.
            seconds: How long it is valid; None for 90 days.
        """
        body = {"name": name} | ({} if seconds is None else {"expires_in_seconds": seconds})
        # A repetition is not shown the key again: it is better to be told that the answer was lost.
        return self._api.post(MadeKey, "keys/", body)

    def rotate(self, key_id: str, *, overlap: int | None = None) -> MadeKey:
        """Make a key in a valid one's place, which stays valid for a while.

        Args:
            key_id: The old one.
            overlap: For how many seconds; None for ten minutes, 0 ends it now.
        """
        body = {} if overlap is None else {"overlap_seconds": overlap}
        return self._api.post(MadeKey, f"keys/{part(key_id)}/rotate", body)

    def revoke(self, key_id: str) -> None:
        """End a key now; nothing if it has ended already."""
        self._api.delete(f"keys/{part(key_id)}")
