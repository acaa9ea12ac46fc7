"""Who may use which operation of the gateway, with what of whom: a row for each use."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Formatter
from typing import Any

from support.gateway_bodies import FACTS, JOB
from support.gateway_crowd import (
    ADA,
    ADAS_KEY,
    ADAS_OTHER_KEY,
    BOB,
    BOSS,
    KEEPER,
    ONE,
    PEOPLE,
    TWO,
)

Thing = dict[str, Any]
ALL = frozenset(PEOPLE)
NODES = frozenset({ONE, TWO})
ACCOUNTS = ALL - NODES
LOGINS = frozenset({ADA, BOB, KEEPER, BOSS})
ADAS = frozenset({ADA, ADAS_KEY, ADAS_OTHER_KEY})
KEEPERS = frozenset({KEEPER, BOSS})
_REPORT = {
    "node_id": "{node_id}",
    "gpu_memory_available": 1,
    "cpu_cores_available": 1,
    "current_jobs": 0,
}
_NOT_FOUND, _FORBIDDEN = 404, 403


@dataclass(frozen=True)
class Use:
    """A use of an operation. Texts in braces are things of Ada's or of node one's.

    Attributes:
        operation: As OpenAPI has it, without the prefix.
        may: Who may.
        refused: What others are answered.
        but: What some of them are answered instead.
        ids: What IDs in the path are of, where they are not called so.
        query: Of the path.
        body: Of the request.
    """

    operation: str
    may: frozenset[str]
    refused: int = _NOT_FOUND
    but: dict[str, int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: Thing | None = None

    @property
    def method(self) -> str:
        """GET, POST, PATCH or DELETE."""
        return self.operation.partition(" ")[0]

    @property
    def parameters(self) -> set[str]:
        """Where it has an ID: in the path, the query or the body."""
        path = {name for _, name, _, _ in Formatter().parse(self.operation) if name}
        return path | {name for name, text in self._texts() if text.startswith("{")}

    def __str__(self) -> str:
        """Its name in a report."""
        others = ", ".join(sorted(self.parameters)) if self._texts() else ""
        of = " ".join([*self.ids.values(), others]).strip()
        return f"{self.operation} {of}".strip()

    def request(self, ids: dict[str, str]) -> tuple[str, str, Thing]:
        """Method, path and the rest, with some IDs."""
        names = ids | {name: ids[of] for name, of in self.ids.items()}
        path = self.operation.partition(" ")[2].format(**names)
        more: Thing = {"params": {name: text.format(**ids) for name, text in self.query.items()}}
        if self.body is not None:
            more["json"] = {
                name: value.format(**ids) if isinstance(value, str) else value
                for name, value in self.body.items()
            }
        return self.method, path, more

    def _texts(self) -> list[tuple[str, str]]:
        every = [*self.query.items(), *(self.body or {}).items()]
        return [(name, text) for name, text in every if isinstance(text, str) and "{" in text]


USES = [
    Use("GET /accounts/me", ACCOUNTS, 403),
    Use("GET /accounts/", frozenset({BOSS}), 403),
    Use("GET /accounts/{account_id}", frozenset({BOSS}), 403),
    Use("PATCH /accounts/{account_id}", frozenset({BOSS}), 403, body={"prepaid": False}),
    Use("GET /accounts/me/balance", ACCOUNTS, 403),
    Use("GET /accounts/me/ledger", ACCOUNTS, 403),
    Use("POST /accounts/{account_id}/credit", frozenset({BOSS}), 403, body={"amount": "1"}),
    Use("POST /agents/register", frozenset({ONE}), body={"node_id": "{node_id}"}),
    Use("GET /agents/{agent_id}", ALL - {TWO}),
    Use("GET /audit/", frozenset({BOSS}), 403, query={"actor": "{account_id}"}),
    Use("GET /audit/", frozenset({BOSS}), 403, query={"target": "{job_id}"}),
    Use("GET /available-nodes/", ALL),
    Use("GET /invoices/{month}", ACCOUNTS, 403),
    Use("GET /invoices/{month}", ADAS | {BOSS}, query={"account": "{account_id}"}),
    Use("POST /jobs/", ACCOUNTS, 403, body=JOB),
    Use("GET /jobs/", ACCOUNTS, 403),
    Use(
        "GET /jobs/",
        ADAS | {BOSS},
        but=dict.fromkeys(NODES, _FORBIDDEN),
        query={"account": "{account_id}"},
    ),
    Use("GET /jobs/", ACCOUNTS, 403, query={"node_id": "{node_id}"}),
    Use("GET /jobs/{job_id}", ADAS | {BOSS}),
    Use("GET /jobs/{job_id}/artifacts", ADAS | {BOSS}),
    Use("GET /jobs/{job_id}/artifacts/{path}", ADAS | {BOSS}),
    Use("GET /jobs/{job_id}/cost", ADAS | {BOSS}),
    Use("GET /jobs/{job_id}/logs", ADAS | {BOSS}),
    Use("POST /jobs/{job_id}/status", frozenset({ONE}), body={"status": "running"}),
    Use("POST /jobs/{job_id}/cancel", ADAS | {BOSS}),
    Use("DELETE /jobs/{job_id}", ADAS | {BOSS}),
    Use("POST /nodes/register", KEEPERS, 403, body=FACTS | {"node_name": "three"}),
    Use("GET /nodes/", ALL),
    Use("GET /nodes/{node_id}", ALL - {TWO}),
    Use("GET /nodes/{node_id}/stats", ALL - {TWO}),
    Use("POST /nodes/{node_id}/heartbeat", frozenset({ONE}), body=_REPORT),
    Use(
        "POST /nodes/{node_id}/heartbeat",
        frozenset(),
        ids={"node_id": "other_node_id"},
        body=_REPORT,
    ),
    Use("PATCH /nodes/{node_id}", KEEPERS, 403, body={"price_per_gpu_hour": "0"}),
    Use("POST /keys/", LOGINS, 403, body={"name": "mine"}),
    Use("POST /keys/", KEEPERS, 403, body={"name": "a node's", "node_id": "{node_id}"}),
    Use("GET /keys/", ALL),
    Use("GET /keys/", KEEPERS | {ONE}, 403, query={"node_id": "{node_id}"}),
    Use("POST /registration-tokens/", KEEPERS, 403, body={"uses": 2}),
    Use("GET /registration-tokens/", KEEPERS, 403),
    Use("DELETE /registration-tokens/{token_id}", KEEPERS, 403),
    *(
        Use(
            operation,
            frozenset({ADA, ADAS_KEY, BOSS}),
            but={ADAS_OTHER_KEY: _FORBIDDEN},
            body=body,
        )
        for operation, body in (
            ("POST /keys/{key_id}/rotate", {"overlap_seconds": 60}),
            ("DELETE /keys/{key_id}", None),
        )
    ),
    *(
        Use(operation, KEEPERS | {ONE}, ids={"key_id": "node_key_id"}, body=body)
        for operation, body in (
            ("POST /keys/{key_id}/rotate", {"overlap_seconds": 60}),
            ("DELETE /keys/{key_id}", None),
        )
    ),
    Use("DELETE /nodes/{node_id}", KEEPERS, 403),
]
"""In an order in which nothing ends what is used afterwards."""
