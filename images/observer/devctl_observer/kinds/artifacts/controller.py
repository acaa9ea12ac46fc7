"""Reconciles the claims of jobs, and deletes expired ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import httpx2
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod
from prometheus_client import Counter

from devctl.api.ephemeral_acceleration_job import RELEASED_AT
from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.control.controller import DOUBT, IN_USE, Controller
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.model import Meta, meta_of, notes_of
from devctl_observer.kinds.artifacts import claims
from devctl_observer.kinds.artifacts.claims import CLAIM
from devctl_observer.watching.store import Key

log = logging.getLogger(__name__)

_MARGIN = 1.0
_REMOVED = Counter("claims_deleted", "Expired job volumes deleted.", **COMMON)


class ClaimController(Controller[PersistentVolumeClaim]):
    """Handles the work queue of claims."""

    word = "claim"

    def __init__(self, owners: Controller[Any], process: Process) -> None:
        """`owners` is the controller of the kind that claims belong to."""
        super().__init__(CLAIM, process.children.claims, process)
        self._owners = owners

    async def _look(self, key: Key, item: PersistentVolumeClaim) -> float | None:
        owner = claims.job_of(item)
        if owner is None or not claims.stays(item):
            return None
        claim = await self._tell_bound(key, item)
        job = self._owners.store.get(owner)
        if job is None or not claims.is_claim_of(claim, job):
            return await self._released(key, claim, owner)
        # A job uses it again, and decides how long it is kept.
        if RELEASED_AT in notes_of(claim):
            await self._note(key, claim, {})
        return None

    async def _released(self, key: Key, claim: PersistentVolumeClaim, owner: Key) -> float | None:
        """Delete a claim whose job is gone once it has expired."""
        where = Meta(name=owner.name, namespace=owner.namespace)
        fresh = await self._api.read(self._owners.kind, where)
        if fresh.item is not None and claims.is_claim_of(claim, fresh.item):
            return DOUBT
        clocks = Clocks(self._clock.now(), fresh.clock)
        if not claims.is_released(notes_of(claim)):
            if not clocks.agree:
                return DOUBT
            claim = await self._note(key, claim, claims.release(notes_of(claim), clocks.latest))
        at = claims.deadline(notes_of(claim))
        if at is None:
            # Invalid annotations never delete anything.
            return None
        if not clocks.passed(at):
            return max((at - clocks.ours).total_seconds() + _MARGIN, DOUBT)
        removed, users = await remove(self._api, claim)
        if removed:
            return None
        return IN_USE if users else DOUBT

    async def _note(
        self, key: Key, claim: PersistentVolumeClaim, notes: Mapping[str, str]
    ) -> PersistentVolumeClaim:
        """Set our annotations on a claim to exactly these."""
        applied = await self._api.annotate(CLAIM, meta_of(claim.metadata), notes)
        return self._keep(key, applied)

    async def _tell_bound(self, key: Key, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write a claim's condition Bound."""
        status = claims.bound_status(claim, self._clock.now())
        if status is None:
            return claim
        try:
            applied = await self._api.apply_status(CLAIM, meta_of(claim.metadata), status)
        except httpx2.HTTPError as error:
            # This is harmless, so it must not delay the deletion of the claim.
            log.warning("%s/%s: could not write its condition Bound: %r", *key, error)
            return claim
        return self._keep(key, applied)


async def remove(api: ClusterApi, claim: PersistentVolumeClaim) -> tuple[bool, list[str]]:
    """Delete exactly this version of a claim unless a pod uses it.

    The caller has checked that it has expired. Pods are listed past the cache, which has only
    devctl's own.

    Returns:
        Whether it was deleted, and the pods that use it.
    """
    meta = meta_of(claim.metadata)
    users = claims.users_of(await api.list_now(Pod, meta.namespace), meta.name)
    if users or not await api.delete(CLAIM, meta):
        return False, users
    _REMOVED.inc()
    log.info("%s/%s: deleted because it has expired", meta.namespace, meta.name)
    return True, []
