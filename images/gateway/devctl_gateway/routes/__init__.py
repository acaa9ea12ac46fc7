"""The endpoints, a module per resource."""

from __future__ import annotations

from devctl_gateway.routes import (
    accounts,
    agents,
    artifacts,
    audit,
    available,
    billing,
    health,
    job_deletion,
    jobs,
    keys,
    logs,
    nodes,
    tokens,
)

ROUTERS = tuple(
    each.router
    for each in (
        *(accounts, agents, artifacts, audit, available, billing, health),
        *(jobs, job_deletion, keys, logs, nodes, tokens),
    )
)
"""Those of all resources."""
