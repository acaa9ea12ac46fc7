"""Validation of ID tokens (OpenID Connect Core, 3.1.3.7)."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from devctl.errors import DeniedError
from devctl.oidc.provider import shortened

if TYPE_CHECKING:
    from devctl.oidc.provider import Provider

ALGORITHMS = frozenset(
    f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in ("256", "384", "512")
)
"""Those that API servers accept; none uses a shared secret."""
_LEEWAY = 60.0
"""Seconds by which clocks may differ."""
_REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
_FIX = "check this machine's clock; if it is right, ask the administrator of the provider"


def validate(
    provider: Provider, token: object, *, nonce: str = "", subject: str = ""
) -> dict[str, Any]:
    """The claims of an ID token.

    Args:
        provider: Which must have issued it.
        token: As received.
        nonce: The one that was sent, if any.
        subject: Whom it must be about; empty for anybody.

    Raises:
        DeniedError: It is not valid.
    """
    import jwt  # noqa: PLC0415 - optional

    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise _invalid(provider, "there is none; is `openid` among the scopes of the client?")
    client = provider.registration.client_id
    try:
        header = jwt.get_unverified_header(token)
        algorithm = str(header.get("alg"))
        if algorithm not in ALGORITHMS:
            raise _invalid(provider, f"its algorithm is `{shortened(algorithm)}`")
        claims: dict[str, Any] = jwt.decode(
            token,
            jwt.PyJWK.from_dict(_key(provider, header, algorithm), algorithm=algorithm),
            algorithms=[algorithm],
            audience=client,
            issuer=provider.issuer,
            leeway=_LEEWAY,
            options={"require": _REQUIRED},
        )
    except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as error:
        raise _invalid(provider, str(error)) from error
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != client:
        raise _invalid(provider, "it is for another client")
    said = str(claims.get("nonce", ""))
    # A refreshed token may leave the nonce out.
    if nonce and not hmac.compare_digest(said.encode(), nonce.encode()):
        raise _invalid(provider, "its nonce is not the one that was sent")
    if subject and claims["sub"] != subject:
        raise _invalid(provider, "it is about somebody else")
    return claims


def _key(provider: Provider, header: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """The provider's key that signed a token."""
    kind = "EC" if algorithm.startswith("ES") else "RSA"
    fitting = [
        key
        for key in provider.signing_keys()
        if key.get("kty") == kind
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
    ]
    if "kid" in header:
        fitting = [key for key in fitting if key.get("kid") == header["kid"]]
    if len(fitting) != 1:
        raise _invalid(provider, "the provider does not publish the key that signed it")
    return fitting[0]


def _invalid(provider: Provider, why: str) -> DeniedError:
    return DeniedError(f"the ID token from {provider.issuer} is not valid: {shortened(why)}", _FIX)
