"""Leader election by a lease. As in client-go, only the local clock counts."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from http import HTTPStatus

import httpx2
from lightkube import ApiError, AsyncClient
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.coordination_v1 import Lease

from devctl_observer.judging.clocks import utc_now

log = logging.getLogger(__name__)

DURATION = 15
RENEW = 10.0
"""Seconds without a renewal after which we stop, before another process may take over."""
PAUSE = 2.0


class LeadershipLostError(Exception):
    """Another process may be the leader now, so this one must stop."""


class Election:
    """A candidate for a lease.

    Its identity is unique to the process: in a pod, the pod's name, `_` and a random part.
    """

    def __init__(
        self,
        client: AsyncClient,
        name: str,
        namespace: str,
        identity: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up a candidate without requesting the lease yet."""
        self._clock = clock
        self._client = client
        self._name, self._namespace, self._identity = name, namespace, identity
        self._seen: tuple[str, float] = ("", 0.0)
        self._renewed = -math.inf
        self._changed = False

    def leads(self) -> bool:
        """Whether no other process can have taken over, however long this one was frozen."""
        return self._clock() - self._renewed <= RENEW

    @property
    def problem(self) -> str:
        """Why no process leads, as far as this one has seen; empty if one does."""
        alive = self._changed and self._clock() - self._seen[1] <= DURATION
        return "" if self.leads() or alive else f"no process holds lease `{self._name}`"

    async def win(self) -> None:
        """Wait until the lease is ours."""
        while not await self._try(heir=True):  # noqa: ASYNC110 - there is no notification of a free lease
            await asyncio.sleep(PAUSE)
        log.info("leading as %s", self._identity)

    async def hold(self) -> None:
        """Renew the lease until cancelled.

        Raises:
            LeadershipLostError: It could not be renewed in time.
        """
        while True:
            await asyncio.sleep(PAUSE)
            if not (await self._try() or self.leads()):
                raise LeadershipLostError(f"lease `{self._name}` could not be renewed")

    async def release(self) -> None:
        """Release the lease, so that another process can take over at once."""
        try:
            lease = await self._client.get(Lease, self._name, namespace=self._namespace)
            if lease.spec and lease.spec.holderIdentity == self._identity:
                lease.spec.holderIdentity = ""
                lease.spec.leaseDurationSeconds = 1
                await self._client.replace(lease)
        except httpx2.HTTPError as error:
            log.info("could not release the lease: %s", error)

    async def _try(self, *, heir: bool = False) -> bool:
        """Acquire or renew the lease, or inherit our pod's; returns whether it is ours."""
        began = self._clock()
        try:
            async with asyncio.timeout(RENEW / 2):
                ours = await self._take(heir=heir)
        except (httpx2.HTTPError, TimeoutError) as error:
            log.info("lease: %r", error)
            return False
        if ours:
            self._renewed = began
        return ours

    async def _take(self, *, heir: bool) -> bool:
        try:
            lease = await self._client.get(Lease, self._name, namespace=self._namespace)
        except ApiError as error:
            if error.status.code != HTTPStatus.NOT_FOUND:
                raise
            metadata = ObjectMeta(name=self._name, namespace=self._namespace)
            await self._client.create(Lease(metadata=metadata, spec=self._spec(0)))
            return True
        spec = lease.spec or LeaseSpec()
        held = spec.holderIdentity == self._identity
        if not (held or (heir and self._is_heir_of(spec)) or self._is_over(lease)):
            return False
        lease.spec = self._spec((spec.leaseTransitions or 0) + (not held))
        if held:
            lease.spec.acquireTime = spec.acquireTime
        # With the version that was read: if two try at once, one gets a conflict.
        await self._client.replace(lease)
        return True

    def _is_heir_of(self, spec: LeaseSpec) -> bool:
        """Whether an earlier process of our own pod holds the lease.

        The kubelet starts a container only after the previous one has ended. Waiting for the dead
        process's lease would delay every deadline.
        """
        pod, there, _ = self._identity.rpartition("_")
        return bool(there) and (spec.holderIdentity or "").startswith(f"{pod}_")

    def _is_over(self, lease: Lease) -> bool:
        """Whether the lease is free, or did not change for its whole duration while we watched."""
        version = (lease.metadata.resourceVersion if lease.metadata else None) or ""
        if version != self._seen[0]:
            # A lease seen for the first time proves nothing: its holder may be dead.
            self._changed = bool(self._seen[0])
            self._seen = (version, self._clock())
        spec = lease.spec
        if spec is None or not spec.holderIdentity:
            return True
        return self._clock() - self._seen[1] > (spec.leaseDurationSeconds or DURATION)

    def _spec(self, transitions: int) -> LeaseSpec:
        now = utc_now()
        return LeaseSpec(
            holderIdentity=self._identity,
            leaseDurationSeconds=DURATION,
            acquireTime=now,
            renewTime=now,
            leaseTransitions=transitions,
        )
