"""Settings, from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.api.gpu_worker_job import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "/gpu-workers"
"""What the paths of all endpoints begin with."""
MOST_PROCESSES = 4
"""Each has at least one connection for what happens without requests: store.engine.POOL_ASIDE."""
_NUMBERS = (
    *("port", "tls_port", "heartbeat_seconds", "orphan_seconds", "artifacts_days"),
    *("requests_per_minute", "failures_per_minute", "open_logs", "processes"),
)


@dataclass(frozen=True)
class Settings:
    """In what deployments differ.

    Attributes:
        database: SQLAlchemy's URL: postgresql:// or sqlite+aiosqlite://.
        namespace: Where jobs run.
        identity_file: A JSON file: whose JSON Web Tokens are accepted, and for which roles.
        kubeconfig: The cluster; empty inside one.
        port: Where it listens without TLS; with tls_folder on the loopback interface alone.
        tls_folder: Has tls.crt and tls.key, which are read again once they change; empty without
            TLS.
        tls_port: Where it listens with TLS.
        heartbeat_seconds: How often an agent is to report; three missed make a node inactive.
        orphan_seconds: For how long a GPUWorkerNode stays that no node is registered for.
        currency: Of all prices.
        queue: The LocalQueue of jobs that name none; empty without Kueue.
        processes: That answer for a replica, each with connections of its own: 4 at most. Several
            count together in PROMETHEUS_MULTIPROC_DIR, an empty folder.
        requests_per_minute: Of one principal, at one process.
        failures_per_minute: To prove who asks, from one address, at one process.
        open_logs: Logs that one principal reads or follows at a time, at one process.
        artifacts_claim: The claim that jobs write their files to; empty where none are kept.
        artifacts_folder: Where this process has its volume.
        artifacts_days: For how long they are kept after a job's end.
    """

    database: str
    namespace: str = NAMESPACE
    identity_file: str = ""
    kubeconfig: str = ""
    port: int = 8000
    tls_folder: str = ""
    tls_port: int = 8443
    heartbeat_seconds: int = 30
    orphan_seconds: int = 300
    currency: str = "USD"
    queue: str = ""
    processes: int = 1
    requests_per_minute: int = 3000
    failures_per_minute: int = 60
    open_logs: int = 5
    artifacts_claim: str = ""
    artifacts_folder: str = ""
    artifacts_days: int = 7

    def __post_init__(self) -> None:
        """Refuse what would lose files, and what cannot be.

        Raises:
            ValueError: Jobs would write files that nobody can fetch, or the other way round; or a
                number is out of bounds.
        """
        if bool(self.artifacts_claim) != bool(self.artifacts_folder):
            raise ValueError("set both of GATEWAY_ARTIFACTS_CLAIM and GATEWAY_ARTIFACTS_FOLDER")
        if self.artifacts_days < 0:
            raise ValueError("GATEWAY_ARTIFACTS_DAYS cannot be negative")
        if not 1 <= self.processes <= MOST_PROCESSES:
            raise ValueError(f"GATEWAY_PROCESSES is from 1 to {MOST_PROCESSES}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """GATEWAY_ and an attribute in capitals: GATEWAY_DATABASE alone is required."""
        found = {
            name: environment[f"GATEWAY_{name.upper()}"]
            for name in cls.__dataclass_fields__
            if f"GATEWAY_{name.upper()}" in environment
        }
        numbers = {name: int(found[name]) for name in _NUMBERS if name in found}
        return cls(**(found | numbers))  # type: ignore[arg-type]
