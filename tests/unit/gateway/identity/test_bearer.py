"""What is made of an Authorization header: told by shape, whatever text there is."""

from __future__ import annotations

from contextlib import suppress

import pytest
from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.identity.bearer import (
    LONGEST,
    REGISTRATION,
    Secret,
    WebToken,
    parse_authorization,
    parse_bearer,
)
from devctl_gateway.identity.secrets import API_KEY, make
from hypothesis import example, given
from hypothesis import strategies as st
from support.gateway_app import ISSUER, claims, signed

JWT_LIKE = st.from_regex(r"[A-Za-z0-9_-]{1,80}\.[A-Za-z0-9_-]{0,200}\.[A-Za-z0-9_-]{0,80}")
KEY_LIKE = st.from_regex(r"gpw_[a-z0-9]{10,14}_[A-Za-z0-9_-]{40,45}")


@given(st.one_of(st.text(), JWT_LIKE, KEY_LIKE))
@example("e30.e30.")
@example("e30.W10.")
@example("e30.eyJpc3MiOjF9.")
@example("gpw_k0123456789a_" + "é" * 43)
@example("gpw_k\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661_" + "x" * 43)
@example("x." + "W" * LONGEST + ".")
@example("x.\ud800.")
def test_any_text_is_a_credential_by_its_shape_or_refused(text: str) -> None:
    try:
        shown = parse_bearer(text)
    except UnauthenticatedError:
        shown = None
    assert shown is None or isinstance(shown, Secret | WebToken)


@given(st.lists(st.one_of(st.text(), st.text().map("Bearer {}".format)), max_size=3))
def test_any_headers_are_a_credential_or_refused(headers: list[str]) -> None:
    with suppress(UnauthenticatedError):
        assert parse_authorization(headers)


@pytest.mark.parametrize(("kind", "registers"), [(API_KEY, False), (REGISTRATION, True)])
def test_a_made_secret_is_known_by_its_shape(kind: str, registers: bool) -> None:  # noqa: FBT001
    made = make(kind)
    shown = parse_bearer(made.text)
    assert isinstance(shown, Secret)
    assert (shown.prefix, shown.registers) == (made.prefix, registers)


def test_a_token_is_known_by_its_issuer() -> None:
    shown = parse_bearer(signed())
    assert isinstance(shown, WebToken)
    assert (shown.issuer, shown.bound) == (ISSUER, False)


def test_a_service_accounts_token_is_known_by_its_claim() -> None:
    shown = parse_bearer(signed(claims(**{"kubernetes.io": {"namespace": "imagepod"}})))
    assert isinstance(shown, WebToken)
    assert shown.bound


@pytest.mark.parametrize("header", ["bearer {}", "BEARER  {}", "  Bearer {} "])
def test_the_scheme_is_read_as_http_has_it(header: str) -> None:
    assert parse_authorization([header.format(make(API_KEY).text)])


@pytest.mark.parametrize("header", ["Basic {}", "{}", "Bearer", "Bearer a b", "Bearer {} x"])
def test_other_schemes_are_refused(header: str) -> None:
    with pytest.raises(UnauthenticatedError, match="this token or key is not valid"):
        parse_authorization([header.format(make(API_KEY).text)])


def test_two_headers_are_refused() -> None:
    with pytest.raises(UnauthenticatedError, match="more than one"):
        parse_authorization(["Bearer " + make(API_KEY).text] * 2)


def test_nothing_that_is_printed_has_a_secret() -> None:
    made = make(API_KEY)
    assert made.text.rsplit("_", 1)[1] not in repr(parse_bearer(made.text))
    assert signed() not in repr(parse_bearer(signed()))
