"""Claims that this node holds: prepared, unprepared, and made again after a restart.

The state is the checkpoint and one CDI file a claim. What is written first is what a crash in
between leaves repairable: the checkpoint before the CDI file, and its removal after that file's.
"""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin import caches, cdi, checkpoint, files, lookup, planning
from devctl_dra_plugin.agreement import Held, NoAgreement
from devctl_dra_plugin.api import ApiError
from devctl_dra_plugin.messages import Answer, ClaimRef
from devctl_dra_plugin.planning import ClaimError, Preparation
from devctl_dra_plugin.tickets import Tickets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from devctl_dra_plugin.agreement import Agreement
    from devctl_dra_plugin.api import Api
    from devctl_dra_plugin.caches import IsThere
    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.tickets import Ticket

log = logging.getLogger(__name__)


class Claims:
    """The claims of one node.

    Args:
        node: The node's name.
        api: The API server.
        state: The checkpoint's file.
        folder: The container runtime's folder of CDI specifications, which a restart of the node
            empties.
        agreement: With others who hand out the same GPUs.
        is_there: Whether the node's cache has a path.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the node's parts
        self,
        node: str,
        api: Api,
        state: Path,
        folder: Path,
        agreement: Agreement | None = None,
        is_there: IsThere = lambda _path: False,
    ) -> None:
        """Read the checkpoint, and make the CDI files as it says."""
        self._is_there = is_there
        self._node, self._api, self._state, self._folder = node, api, state, folder
        self._agreement = agreement or NoAgreement()
        self._lock = threading.Lock()
        self._tickets = Tickets()
        self._ended: set[str] = set()  # while the record is lost: they are not to be found again
        self._devices: Sequence[Device] = ()
        found = checkpoint.read(state)
        self.is_complete = found is not None
        """False if the checkpoint was lost, and the API server was not asked yet."""
        missing = {uid for uid in found or {} if not self._file(uid).exists()}
        self._held = {
            uid: replace(each, prepared=each.prepared and uid not in missing)
            for uid, each in (found or {}).items()
        }
        if missing:
            checkpoint.write(state, self._held)
        self.repair()

    def know(self, devices: Sequence[Device]) -> None:
        """Hand out these GPUs from now on."""
        self._devices = devices

    def held(self) -> Held:
        """What the record says."""
        with self._lock:
            return Held(tuple(self._held.values()), self.is_complete)

    def prepare(
        self, wanted: Sequence[ClaimRef], is_awaited: Callable[[], bool] = lambda: True
    ) -> dict[str, Answer]:
        """Prepare claims, each for itself: an error of one is not the others'.

        Args:
            wanted: The claims.
            is_awaited: Whether the kubelet still waits. For one that has died nothing is held: the
                next one may never ask for that again.
        """
        with self._tickets.issue(ref.uid for ref in wanted) as ticket:
            return {ref.uid: self._prepare_one(ref, ticket, is_awaited) for ref in wanted}

    def unprepare(self, unwanted: Iterable[ClaimRef]) -> dict[str, str]:
        """Forget claims: an error for each, or an empty text; unknown ones are forgotten."""
        return {ref.uid: self._unprepare_one(ref) for ref in unwanted}

    def repair(self) -> None:
        """Make CDI files again that are missing, and remove those of claims that nobody holds."""
        with self._lock:
            for uid, claim in self._held.items():
                if not self._file(uid).exists():
                    self._write_specification(claim)
                    log.info("made the CDI file of claim %s again", claim)
            if not self.is_complete:
                return
            for file in self._folder.glob("*"):
                uid_there = cdi.uid_of(file.name)
                if uid_there is not None and uid_there not in self._held:
                    files.remove(file)

    def complete(self) -> None:
        """Find the claims of a lost checkpoint: those that pods of this node may be using.

        Raises:
            ApiError: They are not known.
        """
        found = lookup.in_use(self._api, self._node, self._devices, self._is_there)
        with self._lock:
            if self.is_complete:
                return
            used = {each.uid: each for each in found if each.uid not in self._ended}
            self._save(used | self._held)
            self.is_complete = True
            self._ended.clear()
        log.info("the checkpoint has %d claims, found at the API server", len(used))
        self.repair()

    def _prepare_one(self, ref: ClaimRef, ticket: Ticket, is_awaited: Callable[[], bool]) -> Answer:
        try:
            with self._lock:
                claim = self._held.get(ref.uid)
            if claim is None or not claim.prepared:
                if not self.is_complete:
                    self.complete()  # before a new claim is written: the file would seem to be all
                claim = self._hold_new(
                    self._planned(lookup.read(self._api, ref)), ticket, is_awaited
                )
            else:
                with self._lock:
                    self._hold(claim, ticket, is_awaited)
        except (ClaimError, ApiError, OSError) as error:
            log.warning("claim %s is not prepared: %s", ref, error)
            return Answer(error=str(error))
        return Answer(cdi.prepared_devices(claim, self._node))

    def _planned(self, claim: dict[str, Any]) -> Preparation:
        planned = planning.plan(claim, self._node, self._devices)
        return caches.with_cache(planned, claim, self._node, self._is_there)

    def _hold_new(
        self, claim: Preparation, ticket: Ticket, is_awaited: Callable[[], bool]
    ) -> Preparation:
        with self._lock:
            planning.superseded(claim, self._held.values())  # before others are asked
        with self._agreement.reserving(claim), self._lock:
            self._hold(claim, ticket, is_awaited)
        # What goes is renamed before its users are looked for: either its agent finds the CDI file,
        # or the rename is seen here.
        if not all(self._is_there(path) for each in claim.shared for path in each.paths):
            self._unprepare_one(ClaimRef(claim.namespace, claim.uid, claim.name))
            raise ClaimError("what it sees of the node's cache has just gone: it is tried again")
        return claim

    def _hold(self, claim: Preparation, ticket: Ticket, is_awaited: Callable[[], bool]) -> None:
        if claim.uid not in ticket or not is_awaited():
            raise ClaimError("the kubelet no longer waits for it")
        if self._held.get(claim.uid) != claim:
            dropped = planning.superseded(claim, self._held.values())
            for uid in dropped:
                files.remove(self._file(uid))
            kept = {uid: each for uid, each in self._held.items() if uid not in dropped}
            self._save(kept | {claim.uid: claim})
            log.info("claim %s gets GPUs %s", claim, sorted(each.index for each in claim.given))
        self._write_specification(claim)

    def _unprepare_one(self, ref: ClaimRef) -> str:
        try:
            with self._lock:
                self._tickets.revoke(ref.uid)
                if not self.is_complete:
                    self._ended.add(ref.uid)
                claim = self._held.get(ref.uid)
                if claim is None:
                    return ""
                files.remove(self._file(ref.uid))
                self._save({uid: each for uid, each in self._held.items() if uid != ref.uid})
        except OSError as error:
            log.warning("claim %s is not unprepared: %s", ref, error)
            return str(error)
        self._agreement.give_back(claim)
        log.info("claim %s has given its GPUs back", ref)
        return ""

    def _save(self, held: checkpoint.Claims) -> None:
        """Not before the file says so."""
        checkpoint.write(self._state, held)
        self._held = held

    def _file(self, uid: str) -> Path:
        return self._folder / cdi.file_name(uid)

    def _write_specification(self, claim: Preparation) -> None:
        text = json.dumps(cdi.specification(claim), indent=1)
        files.write_whole(self._file(claim.uid), text)
