"""The gateway in this process, with a store of its own, and issuers of tokens that tests own."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from devctl_gateway.app import create_app
from devctl_gateway.context import Context, now
from devctl_gateway.settings import Settings
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from support.gateway_store import made, sqlite_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime
    from pathlib import Path

    from devctl_gateway.cluster.client import Cluster
    from fastapi import FastAPI
    from sqlalchemy.ext.asyncio import AsyncEngine

ISSUER, OTHER_ISSUER, AUDIENCE = "https://login.test", "https://local.test", "gpu-workers-api"
SECRET = "a secret key of tests, long enough for HS256"  # noqa: S105 - of tests alone
KID, RSA_KID = "first", "rsa"


@cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    """What the issuer signs with."""
    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    """Another key of the issuer's."""
    return rsa.generate_private_key(65537, bits)


def public_keys() -> list[dict[str, Any]]:
    """What the issuer publishes."""
    elliptic = ECAlgorithm.to_jwk(ec_key().public_key(), as_dict=True)
    modular = RSAAlgorithm.to_jwk(rsa_key().public_key(), as_dict=True)
    return [
        {**elliptic, "kid": KID, "use": "sig", "alg": "ES256"},
        {**modular, "kid": RSA_KID, "use": "sig"},
    ]


def issuer(folder: Path, **changes: Any) -> dict[str, Any]:
    """An entry of the identity file: an issuer with public keys."""
    (folder / "jwks.json").write_text(json.dumps({"keys": public_keys()}))
    return {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "algorithms": ["ES256", "RS256"],
        "jwks_file": str(folder / "jwks.json"),
        "roles_claim": "groups",
        "roles": {"gpu-operators": "operator", "gpu-admins": "admin"},
        **changes,
    }


def local_issuer(folder: Path, **changes: Any) -> dict[str, Any]:
    """Another one, with a secret key."""
    (folder / "secret").write_text(SECRET + "\n")
    return {
        "issuer": OTHER_ISSUER,
        "audience": AUDIENCE,
        "algorithms": ["HS256"],
        "key_file": str(folder / "secret"),
        **changes,
    }


def identity_file(folder: Path, *issuers: dict[str, Any]) -> str:
    """The path of an identity file."""
    path = folder / "identity.json"
    path.write_text(json.dumps(issuers or (issuer(folder), local_issuer(folder))))
    return str(path)


def claims(**changes: Any) -> dict[str, Any]:
    """Valid claims; those that are None are left out."""
    all_of_them = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "user-1",
        "preferred_username": "ada",
        "iat": int(time.time()),
        "exp": int(time.time()) + 600,
        **changes,
    }
    return {name: value for name, value in all_of_them.items() if value is not None}


def signed(payload: dict[str, Any] | None = None, *, kid: str | None = KID) -> str:
    """A token of the issuer's."""
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(payload or claims(), ec_key(), "ES256", headers)


@dataclass
class Clock:
    """What a gateway takes for the time."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return now() + self.ahead


@dataclass(frozen=True)
class Gateway:
    """A gateway, and clients of it."""

    app: FastAPI
    context: Context
    clock: Clock

    def client(self, bearer: str = "", *, address: str = "192.0.2.1") -> httpx2.AsyncClient:
        """A client that shows a token or a key."""
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.app, client=(address, 1234)),
            base_url="http://gateway.test",
            headers={"Authorization": f"Bearer {bearer}"} if bearer else {},
        )

    def user(self, subject: str = "user-1", *groups: str) -> httpx2.AsyncClient:
        """A client of somebody who has logged in."""
        return self.client(signed(claims(sub=subject, groups=list(groups))))

    def admin(self) -> httpx2.AsyncClient:
        """A client of an admin."""
        return self.user("boss", "gpu-admins")

    def operator(self) -> httpx2.AsyncClient:
        """A client of an operator of nodes."""
        return self.user("keeper", "gpu-operators")


@asynccontextmanager
async def store(folder: Path, url: str = "") -> AsyncIterator[AsyncEngine]:
    """An empty store: in a file, unless there is an address."""
    async with made(url or sqlite_url(folder)) as engine:
        yield engine


@asynccontextmanager
async def running(
    folder: Path, url: str = "", *, cluster: Cluster | None = None, **settings: Any
) -> AsyncIterator[Gateway]:
    """A gateway; without a cluster, for what never asks one."""
    async with store(folder, url) as engine:
        clock = Clock()
        context = Context(
            Settings(**{"database": "", "identity_file": identity_file(folder), **settings}),
            engine,
            cast("Cluster", cluster),
            clock,
        )
        yield Gateway(create_app(context), context, clock)
