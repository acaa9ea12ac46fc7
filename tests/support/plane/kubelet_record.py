"""What a kubelet has to remember: which claims its pods have, so that it unprepares them all."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.files import write_whole
from devctl_dra_plugin.messages import ClaimRef

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KUBELET = "kubelet"
"""The value of a pod's annotation plane.devctl/end: it is none of kwok's."""
SECONDS = "plane.devctl/seconds"
"""A pod's annotation: for how long it runs."""


class Record:
    """Claims by pod, in a file.

    Args:
        file: Where.
    """

    def __init__(self, file: Path) -> None:
        """Read what a predecessor has left."""
        self._file, self._lock = file, threading.Lock()
        said = json.loads(file.read_text()) if file.exists() else {}
        self._claims = {uid: [ClaimRef(*each) for each in refs] for uid, refs in said.items()}

    def pods(self) -> set[str]:
        """The UIDs of its pods."""
        with self._lock:
            return set(self._claims)

    def claims(self, uid: str) -> Sequence[ClaimRef]:
        """A pod's; none of a pod that is unknown."""
        with self._lock:
            return self._claims.get(uid, [])

    def add(self, uid: str, claims: Sequence[ClaimRef]) -> None:
        """Remember a pod."""
        with self._lock:
            self._claims[uid] = list(claims)
            self._write()

    def remove(self, uid: str) -> None:
        """Forget one."""
        with self._lock:
            if self._claims.pop(uid, None) is not None:
                self._write()

    def _write(self) -> None:
        said = {
            uid: [[ref.namespace, ref.uid, ref.name] for ref in refs]
            for uid, refs in self._claims.items()
        }
        write_whole(self._file, json.dumps(said))


def claim_names(pod: dict[str, Any]) -> list[str]:
    """The names of a pod's claims: named ones, made from templates, and for its limits."""
    made = {
        each["name"]: each.get("resourceClaimName")
        for each in pod["status"].get("resourceClaimStatuses") or []
    }
    found = [
        each.get("resourceClaimName") or made[each["name"]]
        for each in pod["spec"].get("resourceClaims", [])
    ]
    extended = pod["status"].get("extendedResourceClaimStatus")
    return [*found, *([extended["resourceClaimName"]] if extended else [])]
