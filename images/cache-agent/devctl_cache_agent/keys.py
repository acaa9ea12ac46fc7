"""The SSH key for private repositories, lent to the user who runs git and to nobody else.

The Secret's own files are root's. A group for the volume would let that user read all other Secrets
of the pod as well, and the agent's token.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl_cache_agent.git import Ssh

if TYPE_CHECKING:
    from pathlib import Path

KEY, HOSTS = "ssh-privatekey", "known_hosts"


class Keys:
    """Copies what the Secret has at each call, since it may come later or change.

    Args:
        secret: The Secret's folder, which may not be there.
        lent: A folder in memory.
        user: Who runs git; None for the agent itself.
    """

    def __init__(self, secret: Path, lent: Path, user: int | None) -> None:
        """Copy nothing yet."""
        self._secret, self._lent, self._user = secret, lent, user

    def __call__(self) -> Ssh | None:
        """The copies; None without the Secret, or if it lacks the hosts that are believed."""
        try:
            found = {name: (self._secret / name).read_bytes() for name in (KEY, HOSTS)}
        except OSError:
            return None
        for name, content in found.items():
            self._copy(name, content)
        return Ssh(str(self._lent / KEY), str(self._lent / HOSTS))

    def _copy(self, name: str, content: bytes) -> None:
        place = self._lent / name
        if place.exists() and place.read_bytes() == content:
            return
        new = self._lent / f".{name}"
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as target:
            target.write(content)
        if self._user is not None:
            os.chown(new, self._user, self._user)
        new.rename(place)
