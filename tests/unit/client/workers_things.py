"""The GPU workers API in memory, and what it answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = httpx2.Response | Callable[[httpx2.Request], httpx2.Response]

URL, TOKEN = "https://workers.example", "t0ken"
PREFIX = "/gpu-workers/"
JOB = "job-0123456789ab"
PROBLEM = "application/problem+json"


def job(job_id: str = JOB, state: str = "running", **changes: Any) -> dict[str, Any]:
    """A job."""
    found = {
        "job_id": job_id,
        "job_name": "training",
        "docker_image": "pytorch/pytorch",
        "docker_tag": "latest",
        "gpu_count": 1,
        "gpu_memory_required": 8192,
        "gpu_memory_per_gpu": 8192,
        "cpu_cores_required": 4,
        "memory_required": 16384,
        "command": None,
        "args": None,
        "env": [],
        "queue": None,
        "priority": "normal",
        "scheduling_strategy": "leastLoaded",
        "timeout_seconds": 86400,
        "retries": 0,
        "state": state,
        "reason": None,
        "message": None,
        "queue_position": None,
        "node_id": "gpu-0123456789ab",
        "node_name": "gpu-node-1",
        "created_at": "2026-01-02T11:55:00Z",
        "started_at": "2026-01-02T11:56:00Z",
        "finished_at": None,
        "exit_code": None,
        "cost": "0.10",
        "currency": "USD",
        "reported": {},
    }
    return found | changes


def node(node_id: str = "gpu-0123456789ab", state: str = "active") -> dict[str, Any]:
    """A node."""
    return {
        "id": node_id,
        "node_name": "gpu-node-1",
        "hostname": "gpu-node-1.example",
        "gpu_count": 2,
        "gpu_type": "RTX 4090",
        "gpu_memory_total": 24576,
        "cpu_cores": 16,
        "memory_total": 65536,
        "max_concurrent_jobs": 2,
        "state": state,
        "registered_at": "2026-01-02T11:00:00Z",
        "last_heartbeat": "2026-01-02T11:59:30Z",
        "price_per_gpu_hour": "1.20",
        "price_per_cpu_hour": "0.03",
        "price_per_memory_gb_hour": "0.004",
    }


def key(**changes: Any) -> dict[str, Any]:
    """An API key."""
    found = {"id": "key-0123456789ab", "prefix": "abcd", "name": "ci", "node_id": None}
    times = {"created_at": "2026-01-02T11:00:00Z", "expires_at": None, "revoked_at": None}
    return found | times | {"last_used_at": None} | changes


def problem(status: int, detail: str, title: str = "", **extra: Any) -> httpx2.Response:
    """An answer that says what is wrong."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": title or httpx2.codes.get_reason_phrase(status),
    }
    body |= {"status": status, "detail": detail, "request_id": "r-1", **extra}
    return httpx2.Response(status, json=body, headers={"Content-Type": PROBLEM})


def page(*items: Any, cursor: str | None = None) -> httpx2.Response:
    """A part of a list."""
    return httpx2.Response(200, json={"items": list(items), "next_cursor": cursor})


@dataclass
class WorkersApi:
    """Answers each request with the next of its answers; the last one is given again and again."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[httpx2.Request] = field(default_factory=list)

    def add(self, what: str, *answers: Answer | dict[str, Any]) -> None:
        """What is answered, such as to `GET jobs/`."""
        made = [httpx2.Response(200, json=a) if isinstance(a, dict) else a for a in answers]
        self.answers.setdefault(what, []).extend(made)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        what = f"{request.method} {request.url.raw_path.decode().partition('?')[0]}"
        queue = self.answers.get(what.replace(PREFIX, "", 1))
        if not queue:
            return problem(404, f"nothing is at `{what}`; check it")
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        return answer if isinstance(answer, httpx2.Response) else answer(request)

    @property
    def lines(self) -> list[str]:
        """What was asked."""
        return [f"{each.method} {str(each.url).partition(PREFIX)[2]}" for each in self.asked]

    def body(self) -> Any:
        """What the last request said."""
        return json.loads(self.asked[-1].content)
