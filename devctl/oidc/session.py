"""Sessions: from login over silent refreshes to logout."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from devctl.errors import DeniedError, DevctlError, UsageError
from devctl.oidc import store
from devctl.oidc.store import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from devctl.oidc.device_code import Code
    from devctl.oidc.provider import Provider
    from devctl.oidc.registration import Registration

LOGIN_REQUIRED = "LoginRequired"
"""The reason of an error if one has to log in."""
_EARLY = 60.0
"""Seconds before its expiry at which a token is refreshed, but not before half its life is over."""
_ENDED = frozenset(
    {
        "access_denied",
        "consent_required",
        "interaction_required",
        "invalid_grant",
        "invalid_token",
        "login_required",
    }
)
"""OAuth's words for a refresh token that is not accepted any more."""


def current(
    registration: Registration,
    *,
    refused: str = "",
    transport: httpx2.BaseTransport | None = None,
) -> Session:
    """The session of the person who is logged in, refreshed if necessary.

    Args:
        registration: Of which provider and client.
        refused: An ID token that the API server does not accept although it has not expired.
        transport: Replaces the network in tests.

    Raises:
        DeniedError: Nobody is logged in any more; the reason is LOGIN_REQUIRED.
        BusyError: Another process is refreshing and does not finish.
        DevctlError: The provider cannot be reached.
    """
    found = store.load(registration)
    if found is None:
        raise login_required(f"you are not logged in at {registration.issuer}")
    if _is_fresh(found) and found.id_token != refused:
        return found
    with store.locked(registration):
        # Another process may have refreshed or ended it meanwhile.
        found = store.load(registration)
        if found is None:
            raise login_required(f"you are not logged in at {registration.issuer}")
        if _is_fresh(found) and found.id_token != refused:
            return found
        return _refreshed(registration, found, refused, transport)


def log_in(
    registration: Registration,
    *,
    visit: Callable[[str], object] | None = None,
    show: Callable[[Code], object] | None = None,
    seconds: float = 300.0,
    transport: httpx2.BaseTransport | None = None,
) -> tuple[Session, str]:
    """Log a person in, and store the session.

    Args:
        registration: At which provider, as which client.
        visit: Opens an address in a browser on this machine; None for device codes only.
        show: Shows a device code, which is preferred if the provider has any; None for never.
        seconds: How long to wait for the browser.
        transport: Replaces the network in tests.

    Returns:
        The session, and what it is kept in.

    Raises:
        DeniedError: The provider or the person refused, or the ID token is not valid.
        WaitTimeoutError: Nobody logged in.
        DevctlError: The provider cannot be reached, or the session cannot be stored.
    """
    from devctl.oidc import authorization_code, device_code  # noqa: PLC0415 - heavy
    from devctl.oidc.provider import Provider, require_libraries  # noqa: PLC0415 - heavy

    require_libraries()
    with Provider(registration, transport) as provider:
        nonce = ""
        if show and (not visit or provider.endpoint(device_code.ENDPOINT)):
            tokens = device_code.log_in(provider, show)
        elif visit:
            tokens, nonce = authorization_code.log_in(provider, visit, seconds=seconds)
        else:
            raise UsageError("there is no way to log in", "give `visit`, `show` or both")
        session = _session(provider, tokens, nonce=nonce)
    with store.locked(registration):
        return session, store.save(registration, session)


def log_out(
    registration: Registration, *, transport: httpx2.BaseTransport | None = None
) -> tuple[bool, str]:
    """Revoke the session's tokens where the provider can (RFC 7009), and forget them in any case.

    Returns:
        Whether somebody was logged in, and why the tokens were not revoked; empty if they were.

    Raises:
        HostError: The session cannot be deleted.
    """
    with store.locked(registration):
        try:
            found = store.load(registration)
        except DeniedError as error:
            store.forget(registration)
            return True, error.message
        if found is None:
            return False, ""
        try:
            why = _revoke(registration, found, transport)
        except DevctlError as error:
            why = error.message
        store.forget(registration)
        return True, why


def login_required(why: str) -> DeniedError:
    """The error that tells a person, in one line, to log in."""
    return DeniedError(f"{why}: run `devctl login`", reason=LOGIN_REQUIRED)


def _is_fresh(session: Session) -> bool:
    """Whether a token can be used for a while; a clock that was set back says nothing."""
    life = session.expires_at - session.received_at
    now = time.time()
    return session.received_at <= now < session.expires_at - min(_EARLY, life / 2)


def _refreshed(
    registration: Registration,
    old: Session,
    refused: str,
    transport: httpx2.BaseTransport | None,
) -> Session:
    host = urlsplit(registration.issuer).netloc
    usable = old.received_at <= time.time() < old.expires_at and old.id_token != refused
    if not old.refresh_token:
        if usable:
            return old
        raise login_required(f"your login at {host} has expired")
    from devctl.oidc.provider import (  # noqa: PLC0415 - heavy
        Provider,
        ProviderError,
        require_libraries,
        shortened,
    )

    require_libraries()
    try:
        with Provider(registration, transport) as provider:
            session = _refresh(provider, old)
    except DevctlError as error:
        if isinstance(error, ProviderError) and error.code in _ENDED:
            store.forget(registration)
            ended = f"your login at {host} has ended ({shortened(error.code)})"
            raise login_required(ended) from error
        # A provider that is down does not matter as long as the token has not expired.
        if usable:
            return old
        raise
    store.save(registration, session)
    return session


def _refresh(provider: Provider, old: Session) -> Session:
    from oauthlib.oauth2 import WebApplicationClient  # noqa: PLC0415 - heavy

    client = WebApplicationClient(old.client_id)
    body = client.prepare_refresh_body(
        refresh_token=old.refresh_token, client_id=old.client_id, scope=None
    )
    tokens = provider.tokens(client, body)
    if not tokens.get("id_token"):
        raise login_required(f"{provider.issuer} refreshes no ID tokens, and yours has expired")
    return _session(provider, tokens, old=old)


def _session(
    provider: Provider,
    tokens: Mapping[str, Any],
    *,
    nonce: str = "",
    old: Session | None = None,
) -> Session:
    from devctl.oidc.id_token import validate  # noqa: PLC0415 - heavy
    from devctl.oidc.provider import shortened  # noqa: PLC0415 - heavy

    token = tokens.get("id_token")
    claims = validate(provider, token, nonce=nonce, subject=old.subject if old else "")
    # Our clock may differ from the provider's; only the length of a token's life is certain.
    now = time.time()
    name = claims.get("email") or claims.get("preferred_username") or claims["sub"]
    refresh = tokens.get("refresh_token") or (old.refresh_token if old else "")
    return Session(
        issuer=provider.issuer,
        client_id=provider.registration.client_id,
        subject=str(claims["sub"]),
        name=shortened(name),
        id_token=str(token),
        refresh_token=str(refresh),
        received_at=now,
        expires_at=now + max(0.0, float(claims["exp"]) - max(float(claims["iat"]), now - _EARLY)),
    )


def _revoke(
    registration: Registration, session: Session, transport: httpx2.BaseTransport | None
) -> str:
    """Why a session's refresh token, which is what keeps it alive, could not be revoked."""
    if not session.refresh_token:
        return ""
    from devctl.oidc.provider import Provider, require_libraries  # noqa: PLC0415 - heavy

    require_libraries()
    from oauthlib.oauth2 import WebApplicationClient  # noqa: PLC0415 - heavy

    with Provider(registration, transport) as provider:
        if not (endpoint := provider.endpoint("revocation_endpoint")):
            return f"{registration.issuer} offers no revocation"
        client = WebApplicationClient(registration.client_id)
        address, _headers, body = client.prepare_token_revocation_request(
            endpoint, session.refresh_token, "refresh_token", client_id=registration.client_id
        )
        answer = provider.post(address, body)
        if answer.is_error:
            return f"{registration.issuer} answers {answer.status_code}"
    return ""
