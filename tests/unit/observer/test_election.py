"""One observer leads. Each read of the fake clock advances it, so that nothing waits."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control import election
from devctl_observer.control.election import Election, LeadershipLostError
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.meta_v1 import ObjectMeta

from unit.observer.running import api_error, for_turns

if TYPE_CHECKING:
    from lightkube import AsyncClient


class FakeLease:
    """A cluster with one lease."""

    def __init__(self) -> None:
        self.lease: Any = None
        self.version = 0
        self.broken = False

    async def get(self, _kind: Any, _name: str, **_options: Any) -> Any:
        if self.broken:
            raise api_error(HTTPStatus.SERVICE_UNAVAILABLE)
        if self.lease is None:
            raise api_error(HTTPStatus.NOT_FOUND)
        metadata = ObjectMeta(name="l", namespace="n", resourceVersion=str(self.version))
        return type(self.lease)(metadata=metadata, spec=self.lease.spec)

    async def create(self, lease: Any) -> None:
        self.lease, self.version = lease, self.version + 1

    async def replace(self, lease: Any) -> None:
        if lease.metadata.resourceVersion != str(self.version):
            raise api_error(HTTPStatus.CONFLICT)
        await self.create(lease)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "PAUSE", 0)


def candidate(cluster: FakeLease, who: str) -> Election:
    clock = count()
    client = cast("AsyncClient", cluster)
    return Election(client, "l", "n", who, clock=lambda: float(next(clock)))


def test_one_leads_another_waits_and_follows() -> None:
    cluster = FakeLease()

    async def both(leader: Election, other: Election) -> None:
        await asyncio.gather(leader.hold(), other.win())

    async def play() -> None:
        first, second = candidate(cluster, "first"), candidate(cluster, "second")
        await first.win()
        await for_turns(both(first, second), 200)
        assert cluster.version > 50
        assert cluster.lease.spec.holderIdentity == "first"
        await second.release()  # not its own, so nothing happens
        assert cluster.lease.spec.holderIdentity == "first"
        await first.release()
        await second.win()
        assert cluster.lease.spec.holderIdentity == "second"

    asyncio.run(play())


def test_the_lease_of_a_leader_that_died_is_taken_when_its_duration_is_over() -> None:
    cluster = FakeLease()

    async def play() -> None:
        await candidate(cluster, "dead").win()
        cluster.lease.spec = LeaseSpec(holderIdentity="dead", leaseDurationSeconds=100)
        heir = candidate(cluster, "heir")
        await for_turns(heir.win(), 40)
        assert cluster.lease.spec.holderIdentity == "dead"
        await heir.win()
        assert cluster.lease.spec.holderIdentity == "heir"
        assert cluster.lease.spec.leaseTransitions == 1

    asyncio.run(play())


def test_one_that_waits_knows_whether_anybody_works() -> None:
    cluster = FakeLease()
    seconds = [0.0]

    def candidate_of(who: str) -> Election:
        return Election(cast("AsyncClient", cluster), "l", "n", who, clock=lambda: seconds[0])

    async def play() -> None:
        first, second = candidate_of("first"), candidate_of("second")
        assert second.problem == "no process holds lease `l`"
        await first.win()
        assert first.problem == ""
        await for_turns(second.win(), 20)
        # The lease exists, but its holder may be dead.
        assert second.problem
        cluster.version += 1
        await for_turns(second.win(), 20)
        assert second.problem == ""
        seconds[0] += 15.1
        assert second.problem

    asyncio.run(play())


def test_a_process_does_not_wait_for_the_lease_of_its_own_pod() -> None:
    """After a crash, that would delay every deadline."""
    cluster = FakeLease()

    def process(who: str) -> Election:
        return Election(cast("AsyncClient", cluster), "l", "n", who, clock=lambda: 0.0)

    async def play() -> None:
        first = process("pod-1_a")
        await first.win()
        # Another pod waits, whatever its name, and so does a process outside a pod.
        for who in ("pod-2_b", "pod-1-x_b", "pod_b", "pod-1-b", "b"):
            await for_turns(process(who).win(), 20)
            assert cluster.lease.spec.holderIdentity == "pod-1_a"
        await process("pod-1_b").win()
        assert cluster.lease.spec.holderIdentity == "pod-1_b"
        assert cluster.lease.spec.leaseTransitions == 1
        # If the first one still ran, it would stop, and not take the lease back.
        await for_turns(first.hold(), 20)
        assert cluster.lease.spec.holderIdentity == "pod-1_b"

    asyncio.run(play())


def test_one_that_was_frozen_does_not_lead_before_it_has_renewed() -> None:
    cluster, now = FakeLease(), [0.0]
    client = cast("AsyncClient", cluster)

    async def play() -> None:
        leader = Election(client, "l", "n", "me", clock=lambda: now[0])
        assert not leader.leads()
        await leader.win()
        assert leader.leads()
        now[0] += election.RENEW + 1
        assert not leader.leads()
        # No other candidate has acquired the lease meanwhile.
        await for_turns(leader.hold(), 20)
        assert leader.leads()

    asyncio.run(play())


def test_a_leader_that_cannot_renew_stops() -> None:
    cluster = FakeLease()

    async def play() -> None:
        leader = candidate(cluster, "me")
        await leader.win()
        cluster.broken = True
        with pytest.raises(LeadershipLostError, match="could not be renewed"):
            await leader.hold()
        await leader.release()

    asyncio.run(play())
