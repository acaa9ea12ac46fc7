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
        *(jobs, nodes, available, agents, logs, artifacts, job_deletion),
        *(health, accounts, audit, billing, keys, tokens),
    )
)
"""Those of all resources, in the order in which a path is looked for: what is asked often first."""
