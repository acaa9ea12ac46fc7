"""Where the keys of an issuer are read: a file, or an address."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2

from devctl_gateway.errors import IssuerError
from devctl_gateway.identity.issuers import Issuer

Read = Callable[[], Awaitable[bytes]]
LARGEST = 262144
"""Bytes of a key set."""
_SECONDS = 5.0


def source_of(issuer: Issuer) -> Read:
    """How the keys of an issuer are read, without blocking the event loop."""

    async def read() -> bytes:
        try:
            if issuer.jwks_url:
                return await _fetch(issuer)
            return await asyncio.to_thread(_file, issuer.jwks_file or issuer.key_file)
        except (OSError, httpx2.HTTPError) as error:
            raise IssuerError(
                f"the keys of `{issuer.issuer}` cannot be had ({type(error).__name__})",
                "try again soon; if it stays, an administrator must look at the identity file",
            ) from error

    return read


def _file(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return _bounded(file.read(LARGEST + 1))


def _bounded(content: bytes) -> bytes:
    if len(content) > LARGEST:
        raise OSError("too large for a key set")
    return content


async def _fetch(issuer: Issuer) -> bytes:
    headers = {"Accept": "application/jwk-set+json, application/json"}
    if issuer.token_file:
        token = (await asyncio.to_thread(_file, issuer.token_file)).decode("ascii").strip()
        headers["Authorization"] = f"Bearer {token}"
    trust = await asyncio.to_thread(ssl.create_default_context, cafile=issuer.ca_file or None)
    content = b""
    async with (
        httpx2.AsyncClient(verify=trust, timeout=_SECONDS, follow_redirects=False) as client,
        asyncio.timeout(2 * _SECONDS),
        client.stream("GET", issuer.jwks_url, headers=headers) as answer,
    ):
        answer.raise_for_status()
        if answer.status_code != httpx2.codes.OK:
            raise OSError(f"the answer is {answer.status_code}")
        async for part in answer.aiter_bytes():
            content = _bounded(content + part)
    return content
