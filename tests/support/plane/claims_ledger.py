"""Who has which GPU, looked at all the time: no two claims may ever have the same one."""

from __future__ import annotations

import json
from itertools import combinations
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

from devctl_dra_plugin.cdi import uid_of
from devctl_dra_plugin.names import DRIVER
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from support.api import Api
    from support.plane.gpu_node import GpuNode

Thing = dict[str, Any]
_VARIABLE = "CANHAZGPU_DEVICES="


class ClaimsLedger:
    """Follows allocations by a watch, and what nodes have prepared in their files.

    Args:
        api: The API server.
        namespace: Where the claims are.
        nodes: The nodes.
    """

    def __init__(self, api: Api, namespace: str, nodes: Sequence[GpuNode]) -> None:
        """Look at nothing yet."""
        self._api, self._namespace, self._nodes = api, namespace, nodes
        self._over = Event()
        self.allocated: dict[str, set[tuple[str, str]]] = {}
        """By the claim's UID: node and device of each."""
        self.ever: set[str] = set()
        """All claims that have been allocated anything."""
        self.looks = 0
        self.excess: list[str] = []
        """What was wrong."""
        self._threads = [
            Thread(target=self._guard, args=(each,), daemon=True)
            for each in (self._watch, self._look_at_files)
        ]

    def look(self) -> None:
        """Wait until it has looked at all files once more, from the first to the last."""
        # The one that goes on now has begun earlier.
        after = self.looks + 1
        wait_until(lambda: self.looks > after, lambda: f"it looks: {self.excess}")

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._threads[1].join()

    def _guard(self, look: Callable[[], None]) -> None:
        try:
            look()
        except BaseException as failure:  # noqa: BLE001 - pytest's failures are such
            self.excess.append(f"nobody looks any more: {failure!r}")

    def _watch(self) -> None:
        for event, claim in self._api.watch("resourceclaim", self._namespace, 600):
            if self._over.is_set():
                return
            uid = claim["metadata"]["uid"]
            allocation = claim.get("status", {}).get("allocation") or {}
            results = allocation.get("devices", {}).get("results", [])
            self.allocated.pop(uid, None)
            if event == "DELETED" or not results:
                continue
            mine = {(each["pool"], each["device"]) for each in results}
            self.excess += [
                f"{uid} and {other} are both allocated {sorted(mine & theirs)}"
                for other, theirs in self.allocated.items()
                if mine & theirs
            ]
            self.allocated[uid] = mine
            self.ever.add(uid)

    def _look_at_files(self) -> None:
        while not self._over.wait(0.02):
            for node in self._nodes:
                self.excess += _twice(node.name, _recorded(node.root))
                self.excess += _described_twice(node.name, node.root / "cdi")
            self.looks += 1


def _recorded(root: Path) -> dict[str, set[str]]:
    """The indexes of each claim in a plugin's record, which is replaced as a whole."""
    try:
        said = json.loads((root / "plugins" / DRIVER / "checkpoint.json").read_text())
    except FileNotFoundError:
        return {}
    return {claim["uid"]: {str(g["index"]) for g in claim["given"]} for claim in said["claims"]}


def _described_twice(node: str, folder: Path) -> list[str]:
    """Which GPUs the files of two claims give; those that were replaced meanwhile do not count."""
    found, files = {}, {}
    for file in folder.iterdir():
        try:
            with file.open() as content:
                devices = json.load(content)["devices"]
        except (FileNotFoundError, ValueError):
            continue  # it has gone, or is being written under its temporary name
        if uid := uid_of(file.name):
            said = (word for d in devices for word in d["containerEdits"].get("env", []))
            lists = [w.removeprefix(_VARIABLE) for w in said if w.startswith(_VARIABLE)]
            found[uid] = {index for each in lists for index in each.split(",")}
            files[uid] = file
    wrong = _twice(node, found)
    # What was read first may have gone before the second one came.
    still = {uid: indexes for uid, indexes in found.items() if files[uid].exists()}
    return wrong and _twice(node, still)


def _twice(node: str, claims: dict[str, set[str]]) -> list[str]:
    return [
        f"{node}: claims {one} and {other} both have {sorted(claims[one] & claims[other])}"
        for one, other in combinations(claims, 2)
        if claims[one] & claims[other]
    ]
