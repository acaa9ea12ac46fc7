"""The process: leader election, observation and probes."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from dataclasses import dataclass
from uuid import uuid4

import httpx2
from lightkube import AsyncClient

from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.control.election import Election
from devctl_observer.control.figures import LEADER
from devctl_observer.control.process import Clock
from devctl_observer.families import ALONE
from devctl_observer.observer import Observer
from devctl_observer.probes import serve

log = logging.getLogger(__name__)

LEASE = "devctl-observer"
"""The lease of the process that handles all kinds but those in ALONE."""


@dataclass(frozen=True)
class Settings:
    """Settings from the environment."""

    namespace: str
    identity: str
    port: int
    lease: str = LEASE
    alone: str = ""
    """The only kind that the process handles; empty for all that have no process of their own."""

    @classmethod
    def from_environment(cls) -> Settings:
        """POD_NAMESPACE, POD_NAME, DEVCTL_PROBES_PORT and DEVCTL_OBSERVER_{KIND,LEASE}.

        Raises:
            ValueError: No process handles that kind alone.
        """
        pod, alone = os.environ.get("POD_NAME"), os.environ.get("DEVCTL_OBSERVER_KIND", "")
        if alone and alone not in ALONE:
            known = ", ".join(f"`{kind}`" for kind in ALONE)
            raise ValueError(
                f"DEVCTL_OBSERVER_KIND is `{alone}`: leave it out, or set it to {known}"
            )
        return cls(
            namespace=os.environ.get("POD_NAMESPACE", "devctl-system"),
            # No `_` outside a pod, where several may run: none inherits another's lease.
            identity=f"{pod}_{uuid4()}" if pod else f"observer-{uuid4()}",
            port=int(os.environ.get("DEVCTL_PROBES_PORT", "6790")),
            lease=os.environ.get("DEVCTL_OBSERVER_LEASE", LEASE),
            alone=alone,
        )


async def run(settings: Settings) -> None:
    """Wait for the lease, then observe until cancelled or until the lease is lost."""
    client = AsyncClient(timeout=httpx2.Timeout(10))
    election = Election(client, settings.lease, settings.namespace, settings.identity)
    LEADER.set_function(election.leads)
    observer = Observer(client, ClusterApi(client, election.leads), Clock(), settings.alone)

    def problems() -> list[str]:
        # A standby watches nothing yet, and is ready to take over.
        return observer.problems() if election.leads() else list(filter(None, [election.problem]))

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(serve(settings.port, problems))
            await election.win()
            tasks.create_task(election.hold())
            tasks.create_task(observer.run())
    finally:
        await election.release()


def main() -> None:
    """Run the process; the exit code is 0 after SIGTERM, 1 after an error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)

    async def until_signal() -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type checker
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        await run(Settings.from_environment())

    try:
        asyncio.run(until_signal())
    except asyncio.CancelledError:
        log.info("terminated by a signal")
