"""A node's containers as files: they outlive a kubelet, and no two may have the same device.

A device is a file that is created anew by whoever takes it, so that two that have it at once are
never overlooked.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.cdi import uid_of
from devctl_dra_plugin.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Containers:
    """Those of a node.

    Args:
        root: The node's folder.
    """

    def __init__(self, root: Path) -> None:
        """Find those that run."""
        self._files, self._devices = root / "containers", root / "devices"
        self._cdi, self._wrong = root / "cdi", root / "wrong"
        for folder in (self._files, self._devices):
            folder.mkdir(exist_ok=True)

    def start(self, uid: str, devices: Iterable[str], cdi: Iterable[str], seconds: float) -> None:
        """Start a pod's, unless it runs; its devices have to be as CDI files say."""
        if (self._files / uid).exists():
            return
        if unknown := set(cdi) - self._described():
            self._complain(f"{uid}: the runtime does not know {sorted(unknown)}")
        taken = sorted(devices)
        for device in taken:
            self._take(device, uid)
        self._write(uid, {"devices": taken, "ends": time.time() + seconds})

    def has_ended(self, uid: str) -> bool:
        """Whether a pod's has run for as long as it should."""
        file = self._files / uid
        return file.exists() and json.loads(file.read_text())["ends"] < time.time()

    def stop(self, uid: str) -> None:
        """End a pod's: nothing uses its devices any more."""
        for device in self._devices.iterdir():
            if device.read_text() == uid:
                device.unlink()
        if (self._files / uid).exists():
            self._write(uid, {"devices": [], "ends": 0})

    def remove(self, uid: str) -> None:
        """Remove what is left of one that has ended."""
        (self._files / uid).unlink(missing_ok=True)

    def _take(self, device: str, uid: str) -> None:
        file, made = self._devices / device, self._files / f".{uid}.{device}"
        made.write_text(uid)
        try:
            file.hardlink_to(made)
        except FileExistsError:
            # By itself, if the kubelet died before it could say that the container runs.
            if (holder := file.read_text()) != uid:
                self._complain(f"{device} is used by {holder} and by {uid}")
        made.unlink()

    def _described(self) -> set[str]:
        """All devices that the runtime finds."""
        found = set()
        for file in self._cdi.iterdir():
            if uid_of(file.name):
                try:
                    said = json.loads(file.read_text())
                except FileNotFoundError:
                    continue
                found |= {f"{said['kind']}={each['name']}" for each in said["devices"]}
        return found

    def _complain(self, what: str) -> None:
        with self._wrong.open("a") as file:
            file.write(f"{what}\n")

    def _write(self, uid: str, said: dict[str, Any]) -> None:
        write_whole(self._files / uid, json.dumps(said))
