"""A provider in memory: discovery, codes, rotating refresh tokens, revocation, and what goes wrong.

A test changes what it issues (`claims`, `header`, `key`) or answers (`answers`, by path).
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from devctl.oidc.registration import Registration

ISSUER = "https://login.example/tenant"
CLIENT = "devctl"
REGISTRATION = Registration(ISSUER, CLIENT)
LIFE = 300


@cache
def key_of(number: int) -> rsa.RSAPrivateKey:
    """A key; the first one is published."""
    del number
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class FakeProvider(httpx2.BaseTransport):
    """The network that leads to the provider.

    Attributes:
        claims: Override those of ID tokens; None removes one.
        header: Overrides the header of ID tokens.
        key: Signs them: a number for `key_of`, a secret, or None for the algorithm `none`.
        answers: Replace the provider's own, by path.
        metadata: Overrides the discovery document.
        pending: How often a device code is not yet confirmed; then what is said.
        requests: Form or query of every request, by path.
        delay: Seconds that the token endpoint takes.
    """

    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    key: int | bytes | None = 0
    answers: dict[str, httpx2.Response] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    refresh_tokens: set[str] = field(default_factory=set)
    challenges: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    nonce: str = ""
    rotates: bool = True

    def asked(self, path: str) -> list[dict[str, str]]:
        """The requests to a path."""
        return [form for asked, form in self.requests if asked == path]

    def authorize(self, address: str, **wrong: str) -> str:
        """What a browser gets from the authorization endpoint: where to go next."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        self.requests.append(("/authorize", asked))
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.challenges)}"
        self.challenges[code] = asked["code_challenge"]
        self.nonce = asked["nonce"]
        answer = {"code": code, "state": asked["state"], "iss": ISSUER, **wrong}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def id_token(self) -> str:
        """A new ID token."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": "1234",
            "aud": CLIENT,
            "exp": now + LIFE,
            "iat": now,
            "email": "alice@example.com",
            "nonce": self.nonce,
            "jti": str(len(self.requests)),
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value}
        header = {"kid": "one", **self.header}
        key: Any = key_of(self.key) if isinstance(self.key, int) else self.key
        kept = {name: value for name, value in header.items() if name != "alg"}
        found = jwt.encode(claims, key, algorithm=self.algorithm, headers=kept)
        if "alg" not in self.header:
            return found
        _, _, rest = found.partition(".")
        return f"{base64.urlsafe_b64encode(json.dumps(header).encode()).decode().strip('=')}.{rest}"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:  # noqa: PLR0911
        path = request.url.path.removeprefix("/tenant")
        form = {name: value[0] for name, value in parse_qs(request.read().decode()).items()}
        self.requests.append((path, form))
        if path in self.answers:
            return self.answers[path]
        match path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json=self._metadata())
            case "/keys":
                public = json.loads(RSAAlgorithm.to_jwk(key_of(0).public_key()))
                return httpx2.Response(200, json={"keys": [{**public, "kid": "one", "use": "sig"}]})
            case "/token":
                time.sleep(self.delay)
                return self._token(form)
            case "/device":
                return httpx2.Response(
                    200,
                    json={
                        "device_code": "the-device",
                        "user_code": "ABCD-EFGH",
                        "verification_uri": "https://login.example/device",
                        "verification_uri_complete": "https://login.example/device?c=ABCD-EFGH",
                        "expires_in": 600,
                        "interval": 5,
                    },
                )
            case "/revoke":
                self.refresh_tokens.discard(form["token"])
                return httpx2.Response(200)
        return httpx2.Response(404)

    def _metadata(self) -> dict[str, Any]:
        names = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "keys",
            "device_authorization_endpoint": "device",
            "revocation_endpoint": "revoke",
        }
        found = {name: f"{ISSUER}/{path}" for name, path in names.items()}
        known = {"issuer": ISSUER, "authorization_response_iss_parameter_supported": True}
        return {**found, **known, **self.metadata}

    def _token(self, form: dict[str, str]) -> httpx2.Response:
        match form.get("grant_type"):
            case "authorization_code":
                challenge = self.challenges.pop(form["code"], "")
                digest = sha256(form["code_verifier"].encode()).digest()
                right = base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
                return self._issue() if right else refused("invalid_grant")
            case "urn:ietf:params:oauth:grant-type:device_code":
                assert form["device_code"] == "the-device"
                return refused(self.pending.pop(0)) if self.pending else self._issue()
            case "refresh_token":
                if form["refresh_token"] not in self.refresh_tokens:
                    return refused("invalid_grant", "revoked \x1b[31m")
                if self.rotates:
                    self.refresh_tokens.remove(form["refresh_token"])
                self.nonce = ""
                return self._issue()
        return refused("unsupported_grant_type")

    def _issue(self) -> httpx2.Response:
        refresh = f"refresh-{len(self.requests)}"
        self.refresh_tokens.add(refresh)
        tokens = {
            "access_token": "access",
            "token_type": "Bearer",
            "id_token": self.id_token(),
            "refresh_token": refresh,
            "scope": "openid email",
        }
        return httpx2.Response(200, json=tokens)


def refused(code: str, description: str = "") -> httpx2.Response:
    """An error of OAuth."""
    said = {"error": code, **({"error_description": description} if description else {})}
    return httpx2.Response(400, json=said)
