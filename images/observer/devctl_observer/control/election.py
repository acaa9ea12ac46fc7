"""One observer works; others wait for its lease. As client-go does it: no clock but our own."""

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
"""Seconds without a renewal after which we stop: before anybody else may begin."""
PAUSE = 2.0


class LeadershipLostError(Exception):
    """Somebody else may work now, so this process must not."""


class Election:
    """A candidate for a lease.

    Its identity is another one for each process: in a pod, the pod's name, `_` and a random part.
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
        """Be a candidate that has not asked yet."""
        self._clock = clock
        self._client = client
        self._name, self._namespace, self._identity = name, namespace, identity
        self._seen: tuple[str, float] = ("", 0.0)
        self._renewed = -math.inf
        self._changed = False

    def leads(self) -> bool:
        """Whether nobody else can have begun: a process may be frozen for any time, anywhere."""
        return self._clock() - self._renewed <= RENEW

    @property
    def problem(self) -> str:
        """Why nobody works: neither we nor, as far as we saw, another one; empty else."""
        alive = self._changed and self._clock() - self._seen[1] <= DURATION
        return "" if self.leads() or alive else f"nobody holds lease `{self._name}`"

    async def win(self) -> None:
        """Wait until the lease is ours."""
        while not await self._try(heir=True):  # noqa: ASYNC110 - a lease tells nobody that it is free
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
        """Let the next one begin at once."""
        try:
            lease = await self._client.get(Lease, self._name, namespace=self._namespace)
            if lease.spec and lease.spec.holderIdentity == self._identity:
                lease.spec.holderIdentity = ""
                lease.spec.leaseDurationSeconds = 1
                await self._client.replace(lease)
        except httpx2.HTTPError as error:
            log.info("the lease was not released: %s", error)

    async def _try(self, *, heir: bool = False) -> bool:
        """Take or renew the lease, perhaps our pod's earlier one; returns whether it is ours."""
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
        # With the version that was read: of two that try at once, one gets a conflict.
        await self._client.replace(lease)
        return True

    def _is_heir_of(self, spec: LeaseSpec) -> bool:
        """Whether an earlier process of our own pod holds it.

        The kubelet starts one only after the other's end. To wait for the lease of the dead one
        would make all that has its time late.
        """
        pod, there, _ = self._identity.rpartition("_")
        return bool(there) and (spec.holderIdentity or "").startswith(f"{pod}_")

    def _is_over(self, lease: Lease) -> bool:
        """Whether a foreign lease has not changed for its whole duration while we looked."""
        version = (lease.metadata.resourceVersion if lease.metadata else None) or ""
        if version != self._seen[0]:
            # The first sight of it says nothing: its holder may be dead.
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
