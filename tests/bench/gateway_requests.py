"""What users of the gateway ask, each with a real token."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import jwt
from bench.vegeta import Ask
from support.gateway_app import RSA_KID, claims, rsa_key, signed
from support.gateway_bodies import JOB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.gateway_process import GatewayProcess
    from support.postgres_process import PostgresProcess

_NAMES = ("ada", "bob", "eve")
_HOURS = 8 * 3600
_JOBS_EACH = 100
"""Different jobs of a user that are asked for."""


class Users:
    """Three users of a gateway, with tokens of both sorts.

    Attributes:
        pid: The gateway's process.
        database: Its server.
        accounts: Their IDs.
        jobs: What they have submitted, by account.
    """

    def __init__(self, gateway: GatewayProcess, database: PostgresProcess) -> None:
        """Have each come once."""
        self.pid, self.database = gateway.pid, database
        self.base = f"http://127.0.0.1:{gateway.port}/gpu-workers"
        said = [_claims(name) for name in _NAMES]
        self.tokens = [*map(signed, said), *map(_signed_with_rsa, said)]
        self.accounts, self.jobs = list[str](), dict[str, list[str]]()
        for name in _NAMES:
            with gateway.client(name) as client:
                self.accounts.append(str(client.get("/accounts/me").json()["id"]))

    def get(self, path: str, number: int) -> Ask:
        """A question of one of them, with the next one of their tokens."""
        return Ask("GET", f"{self.base}{path}", self.headers(number))

    def headers(self, number: int) -> dict[str, str]:
        """What proves who asks: the users take turns, and so do their tokens."""
        return {"Authorization": f"Bearer {self.tokens[number % len(self.tokens)]}"}


def _claims(name: str) -> dict[str, object]:
    return claims(sub=name, groups=[], exp=int(time.time()) + _HOURS)


def _signed_with_rsa(payload: dict[str, object]) -> str:
    return jwt.encode(payload, rsa_key(), "RS256", {"kid": RSA_KID})


def reads(users: Users) -> dict[str, list[Ask]]:
    """What is read, by its name: as often of each sort."""
    numbers = range(_JOBS_EACH * len(_NAMES))
    fits = "/available-nodes/?gpu_memory_required=8192&cpu_cores_required=1"

    def job(number: int) -> str:
        whose = users.jobs[users.accounts[number % len(_NAMES)]]
        return f"/jobs/{whose[number // len(_NAMES) % len(whose)]}"

    return {
        "a job": [users.get(job(number), number) for number in numbers],
        "50 jobs": [users.get("/jobs/", number) for number in numbers],
        "nodes": [users.get("/nodes/", number) for number in numbers],
        "available nodes": [users.get(fits, number) for number in numbers],
    }


def submissions(users: Users, numbers: Iterable[int]) -> list[Ask]:
    """Jobs to submit, each under a name of its own, as `devctl workers submit` does it."""
    url = f"{users.base}/jobs/"
    return [
        Ask("POST", url, {**users.headers(n), "Idempotency-Key": f"bench-{n}"}, JOB)
        for n in numbers
    ]
