"""What is sent to the gateway, and what its answers say. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from devctl_gpu_worker_agent.facts import Facts, Free

Body = dict[str, Any]

_SHORTEST, _LONGEST = 1, 3600
"""Seconds between two heartbeats that are taken for meant."""


class AnswerError(Exception):
    """An answer lacks what it should have."""


@dataclass(frozen=True)
class Membership:
    """What a node has been given.

    Attributes:
        node_id: Its ID.
        api_key: With which it reports.
        every: Seconds between two heartbeats.
        facts: What it has registered as.
    """

    node_id: str
    api_key: str
    every: int
    facts: Body

    def __repr__(self) -> str:
        """Without the key, which belongs in no log."""
        return f"Membership({self.node_id})"


def registration(facts: Facts, most_jobs: int) -> Body:
    """A node that registers.

    Args:
        facts: What it is.
        most_jobs: Jobs that it takes at once; 0 for one per GPU.
    """
    return {
        "node_name": facts.node_name,
        "hostname": clean(facts.hostname),
        "gpu_count": facts.gpu_count,
        "gpu_type": clean(facts.gpu_type),
        "gpu_memory_total": facts.gpu_memory,
        "cpu_cores": max(1, facts.cpu_cores),
        "memory_total": facts.memory,
        "max_concurrent_jobs": most_jobs or max(1, facts.gpu_count),
    }


def membership(answer: object, facts: Body) -> Membership:
    """What the answer to a registration gives.

    Raises:
        AnswerError: It has no ID or no key.
    """
    found = answer if isinstance(answer, dict) else {}
    node_id, key = found.get("node_id"), found.get("api_key")
    if not (isinstance(node_id, str) and node_id and isinstance(key, str) and key):
        raise AnswerError("the gateway's answer has no `node_id`, or no `api_key`")
    return Membership(node_id, key, interval(found) or 30, facts)


def interval(answer: object) -> int | None:
    """The seconds between two heartbeats that an answer asks for; None if it does not."""
    found = answer.get("heartbeat_seconds") if isinstance(answer, dict) else None
    if isinstance(found, int) and _SHORTEST <= found <= _LONGEST:
        return found
    return None


def heartbeat(node_id: str, free: Free) -> Body:
    """What a node reports."""
    return {
        "node_id": node_id,
        "gpu_memory_available": free.gpu_memory,
        "cpu_cores_available": free.cpu_cores,
        "current_jobs": free.jobs,
        "health_status": "unhealthy" if free.problem else "healthy",
    }


def saved(member: Membership) -> Body:
    """A membership as a file has it."""
    return asdict(member)


def restored(content: object) -> Membership | None:
    """The membership that a file has; None if it has none."""
    match content:
        case {
            "node_id": str(node_id),
            "api_key": str(key),
            "every": int(every),
            "facts": dict(facts),
        } if node_id and key and _SHORTEST <= every <= _LONGEST:
            return Membership(node_id, key, every, facts)
    return None
