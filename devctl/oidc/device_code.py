"""Login by device code (RFC 8628): the person uses a browser on any machine."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from devctl.errors import UsageError, WaitTimeoutError
from devctl.oidc.provider import ProviderError
from devctl.oidc.registration import is_https

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl.oidc.provider import Provider

ENDPOINT = "device_authorization_endpoint"
_INTERVAL, _SLOWER, _LONGEST = 5.0, 5.0, 60.0
"""Seconds between requests: the RFC's default, what `slow_down` adds, and a bound."""
_LIFE = 900.0
"""Seconds for which we wait at most."""


class Code(NamedTuple):
    """What the person has to enter, and where."""

    user_code: str
    address: str
    whole_address: str
    """The same with the code in it; empty if the provider gives none."""


def log_in(provider: Provider, show: Callable[[Code], object]) -> Mapping[str, Any]:
    """Have a person log in on any machine.

    Args:
        provider: Where.
        show: Called with what the person has to do.

    Returns:
        What the provider gave.

    Raises:
        UsageError: The provider offers no device codes.
        ProviderError: The provider refused, or the person did.
        WaitTimeoutError: Nobody logged in.
        DevctlError: The provider cannot be reached, or its answer is not valid.
    """
    from oauthlib.oauth2 import DeviceClient  # noqa: PLC0415 - optional

    if not (endpoint := provider.endpoint(ENDPOINT)):
        raise UsageError(
            f"{provider.issuer} offers no device codes", "log in with a browser, without --device"
        )
    client = DeviceClient(provider.registration.client_id)
    scopes, _ = provider.scopes()
    asked = {"client_id": provider.registration.client_id, "scope": " ".join(scopes)}
    answer = provider.post(endpoint, urlencode(asked))
    about = _parse(provider, answer.content)
    show(_code(provider, about))
    interval = _number(about.get("interval"), _INTERVAL, _LONGEST)
    until = time.monotonic() + _number(about.get("expires_in"), _LIFE, _LIFE)
    body = client.prepare_request_body(about["device_code"], include_client_id=True, scope=None)
    while time.monotonic() < until:
        time.sleep(interval)
        try:
            return provider.tokens(client, body)
        except ProviderError as error:
            if error.code == "slow_down":
                interval = min(interval + _SLOWER, _LONGEST)
            elif error.code == "expired_token":
                break
            elif error.code != "authorization_pending":
                raise
    raise WaitTimeoutError("nobody has logged in with the code", "run `devctl login` again")


def _parse(provider: Provider, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as error:
        raise provider.nonsense("its device code is not JSON") from error
    if not isinstance(found, dict):
        raise provider.nonsense("its device code is not an object")
    if "error" in found:
        description = str(found.get("error_description") or "")
        raise ProviderError(provider.issuer, str(found["error"]), description)
    if not isinstance(found.get("device_code"), str):
        raise provider.nonsense("it gives no device code")
    return found


def _code(provider: Provider, about: Mapping[str, Any]) -> Code:
    code = str(about.get("user_code") or "")
    address = str(about.get("verification_uri") or about.get("verification_url") or "")
    whole = str(about.get("verification_uri_complete") or "")
    if not code.isprintable() or not code or not is_https(address):
        raise provider.nonsense("its device code has no https address to enter it at")
    same = urlsplit(whole)[:2] == urlsplit(address)[:2]
    return Code(code, address, whole if same and is_https(whole) else "")


def _number(value: object, otherwise: float, most: float) -> float:
    if not isinstance(value, int | float) or not value > 0:
        return otherwise
    return min(float(value), most)
