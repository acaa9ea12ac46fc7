"""A provider: its endpoints, and requests to it."""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from devctl.errors import DeniedError, DevctlError, HostError, UsageError
from devctl.oidc.registration import is_https
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from oauthlib.oauth2 import Client, OAuth2Error

    from devctl.oidc.registration import Registration

_DISCOVERY = "/.well-known/openid-configuration"
_TIMEOUT = 15.0
"""Seconds to connect, and between the pieces of an answer."""
_LARGEST = 1 << 20
"""Bytes of an answer."""
_LONGEST = 300
"""Characters of a provider's message to show."""
_OK = 200
_SERVER_ERROR = 500
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_CHECK = "check the issuer, the network and the VPN"


class ProviderError(DeniedError):
    """The provider refused.

    Attributes:
        code: OAuth's word for it, such as `invalid_grant`.
    """

    def __init__(self, issuer: str, code: str, description: str) -> None:
        """Quote the provider."""
        self.code = code
        said = shortened(f"{code}: {description}" if description else code)
        super().__init__(f"{issuer} refused: {said}", "ask the administrator of the provider")


class Provider:
    """A provider, as its discovery document describes it. Use it in a `with` block."""

    def __init__(
        self, registration: Registration, transport: httpx2.BaseTransport | None = None
    ) -> None:
        """Fetch the discovery document; tests replace the network by `transport`.

        Raises:
            DevctlError: It cannot be fetched, or is not valid.
        """
        self.registration = registration
        self.issuer = registration.issuer
        self._http = httpx2.Client(
            transport=transport,
            verify=_trust(registration.authority) if transport is None else False,
            timeout=_TIMEOUT,
            headers={"User-Agent": "devctl"},
        )
        try:
            self.metadata = self._discover()
        except BaseException:
            self._http.close()
            raise

    def __enter__(self) -> Self:
        """The connection is made as needed."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the connection."""
        self._http.close()

    def endpoint(self, name: str) -> str:
        """An endpoint's address by its name in the discovery document; empty if it has none.

        Raises:
            DevctlError: It is not an https address.
        """
        address = self.metadata.get(name) or ""
        if address and not (isinstance(address, str) and is_https(address)):
            raise DevctlError(
                f"the discovery document of {self.issuer} has an invalid `{name}`",
                "ask the administrator of the provider",
            )
        return str(address)

    def scopes(self) -> tuple[list[str], dict[str, str]]:
        """The scopes to request, and what else makes the provider give a refresh token."""
        wanted = ["openid", "email", "profile"]
        known = self.metadata.get("scopes_supported")
        more: dict[str, str] = {}
        if isinstance(known, list) and "offline_access" not in known:
            # Google's way; others ignore parameters that they do not know.
            more = {"access_type": "offline", "prompt": "consent"}
        else:
            wanted.append("offline_access")
        return list(dict.fromkeys([*wanted, *self.registration.scopes])), more

    def tokens(self, client: Client, body: str) -> Mapping[str, Any]:
        """The answer of the token endpoint.

        Raises:
            ProviderError: The provider refused.
            DevctlError: It cannot be reached, or its answer is not valid.
        """
        if self.registration.client_secret:
            secret = httpx2.QueryParams({"client_secret": self.registration.client_secret})
            body = f"{body}&{secret}"
        answer = self.post(self._required("token_endpoint"), body)
        with self.understood():
            return client.parse_request_body_response(answer.text)  # type: ignore[no-any-return]

    def post(self, address: str, body: str) -> httpx2.Response:
        """Send a form.

        Raises:
            DevctlError: The provider cannot be reached, or fails.
        """
        return self._request("POST", address, content=body.encode(), headers=_FORM)

    def signing_keys(self) -> list[dict[str, Any]]:
        """The keys that sign tokens.

        Raises:
            DevctlError: They cannot be fetched.
        """
        found = self._document(self._required("jwks_uri")).get("keys")
        return [key for key in found or [] if isinstance(key, dict)]

    @contextmanager
    def understood(self) -> Iterator[None]:
        """Turn oauthlib's errors into ours.

        Raises:
            ProviderError: The provider refused.
            DevctlError: Its answer is not valid.
        """
        from oauthlib.oauth2 import OAuth2Error  # noqa: PLC0415 - the caller has imported it

        try:
            yield
        except OAuth2Error as error:
            raise self.refusal(error) from error
        except (AttributeError, TypeError, ValueError, Warning) as error:
            raise self.nonsense(str(error)) from error

    def refusal(self, error: OAuth2Error) -> ProviderError:
        """Our error for one of oauthlib's."""
        return ProviderError(self.issuer, str(error.error), str(error.description or ""))

    def nonsense(self, why: str) -> DevctlError:
        """The error for an answer that is not valid."""
        return DevctlError(
            f"{self.issuer} does not answer as an OpenID Connect provider: {shortened(why)}", _CHECK
        )

    def _required(self, name: str) -> str:
        if not (address := self.endpoint(name)):
            raise self.nonsense(f"its discovery document lacks `{name}`")
        return address

    def _discover(self) -> dict[str, Any]:
        found = self._document(self.issuer.rstrip("/") + _DISCOVERY)
        if found.get("issuer") != self.issuer:
            raise UsageError(
                f"the provider at {self.issuer} calls itself `{shortened(found.get('issuer'))}`",
                "name the issuer exactly as the provider does, with or without a slash at the end",
            )
        return found

    def _document(self, address: str) -> dict[str, Any]:
        answer = self._request("GET", address, headers={"Accept": "application/json"})
        if answer.status_code != _OK:
            raise self.nonsense(f"{address} answers {answer.status_code}")
        try:
            found = json.loads(answer.content)
        except ValueError as error:
            raise self.nonsense(f"{address} does not hold JSON") from error
        if not isinstance(found, dict):
            raise self.nonsense(f"{address} does not hold an object")
        return found

    def _request(self, method: str, address: str, **about: Any) -> httpx2.Response:
        try:
            with self._http.stream(method, address, **about) as answer:
                content = b""
                for piece in answer.iter_bytes():
                    content += piece
                    if len(content) > _LARGEST:
                        raise self.nonsense("its answer is too long")
        except (httpx2.RequestError, httpx2.InvalidURL, OSError) as error:
            why = shortened(error) or type(error).__name__
            raise DevctlError(f"{self.issuer} cannot be reached: {why}", _CHECK) from error
        if answer.status_code >= _SERVER_ERROR:
            raise DevctlError(
                f"{self.issuer} failed with {answer.status_code}", "try again in a moment"
            )
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content)


def shortened(text: object) -> str:
    """A provider's words as one short line of printable characters."""
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def require_libraries() -> None:
    """Check that the optional libraries are installed.

    Raises:
        HostError: They are not.
    """
    try:
        import cryptography  # noqa: F401, PLC0415
        import jwt  # noqa: F401, PLC0415
        import oauthlib  # noqa: F401, PLC0415
    except ImportError as error:
        raise HostError(
            f"OpenID Connect needs the Python package `{error.name}`, which is not installed",
            "install devctl with it: `pip install 'devctl[oidc]'`",
        ) from error


def _trust(authority: str) -> ssl.SSLContext:
    if not authority:
        return httpx2.create_ssl_context()
    try:
        context = ssl.create_default_context(cadata=authority)
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            f"the certificates of the OpenID Connect provider cannot be used: {error}",
            "name a file in PEM, or get a new kubeconfig",
        ) from error
    # Certificates of companies often lack what newer Pythons require.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
