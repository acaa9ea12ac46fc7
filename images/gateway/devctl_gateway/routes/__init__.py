"""The endpoints, a module per resource."""

from __future__ import annotations

from devctl_gateway.routes import (
    accounts,
    agents,
    audit,
    available,
    billing,
    health,
    jobs,
    keys,
    logs,
    nodes,
    tokens,
)

ROUTERS = tuple(
    each.router
    for each in (
        *(accounts, agents, audit, available, billing, health),
        *(jobs, keys, logs, nodes, tokens),
    )
)
"""Those of all resources."""
