"""The names of the SDK, which `devctl` exports."""

from __future__ import annotations

from devctl.client.async_client import AsyncClient
from devctl.client.client import Client
from devctl.client.events import Event
from devctl.client.files.sync import SyncOptions
from devctl.client.flavors import Flavor
from devctl.client.homes import Home
from devctl.client.hooks import HookOutcome
from devctl.client.jobs.job import Job
from devctl.client.queues.limits import Effect, Limit
from devctl.client.queues.team_quota import TeamQuota
from devctl.client.queues.waiting import Holder, Waiting
from devctl.client.runs.command import local_command, local_script, remote_command, remote_script
from devctl.client.runs.events import Ended, Lost, Noticed, Printed
from devctl.client.runs.record import Run
from devctl.client.servers import Replica, Server
from devctl.client.usage import Spending
from devctl.client.users import Use, User
from devctl.client.workers.generated import models as gpu_workers
from devctl.client.workers.generated.models import WorkerJob
from devctl.client.workers.jobs import NewWorkerJob
from devctl.client.workers.workers import Workers
from devctl.client.workloads.output import Output
from devctl.client.workloads.workload import Workload
from devctl.errors import (
    AlreadyExistsError,
    BusyError,
    ConnectionLostError,
    DeniedError,
    DevctlError,
    FieldConflictError,
    HostError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube.cluster import EVERYWHERE

__all__ = [
    "EVERYWHERE",
    "AlreadyExistsError",
    "AsyncClient",
    "BusyError",
    "Client",
    "ConnectionLostError",
    "DeniedError",
    "DevctlError",
    "Effect",
    "Ended",
    "Event",
    "FieldConflictError",
    "Flavor",
    "Holder",
    "Home",
    "HookOutcome",
    "HostError",
    "Job",
    "Limit",
    "Lost",
    "NewWorkerJob",
    "NotFoundError",
    "Noticed",
    "Output",
    "Printed",
    "Replica",
    "Run",
    "Server",
    "Spending",
    "SyncOptions",
    "TeamQuota",
    "UsageError",
    "Use",
    "User",
    "WaitTimeoutError",
    "Waiting",
    "WorkerJob",
    "Workers",
    "Workload",
    "gpu_workers",
    "local_command",
    "local_script",
    "remote_command",
    "remote_script",
]
