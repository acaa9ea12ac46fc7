from __future__ import annotations

import ssl

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.errors import (
    AlreadyExistsError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube.failures import explained, one_line, parse_status, refusal

SERVER = "https://cluster.test"


@pytest.mark.parametrize(
    ("code", "reason", "message", "kind", "fix"),
    [
        (404, "NotFound", 'pods "p" not found', NotFoundError, "check its name"),
        (
            404,
            "NotFound",
            "the server could not find the requested resource",
            NotFoundError,
            "make",
        ),
        (401, "Unauthorized", "Unauthorized", DeniedError, "log in"),
        (403, "Forbidden", 'pods is forbidden: User "a" cannot list', DeniedError, "administrator"),
        (403, "Forbidden", "exceeded quota: cpu, requested: 4", DeniedError, "stop or delete"),
        (403, "Forbidden", "status unknown for quota: cpu", DeniedError, "try again in a moment"),
        (403, "Forbidden", "namespace x is being terminated", DeniedError, "another one with -n"),
        (403, "Forbidden", "ValidatingAdmissionPolicy 'x' denied it", DeniedError, "change what"),
        (403, "Forbidden", 'User "system:anonymous" cannot', DeniedError, "log in"),
        (409, "AlreadyExists", "already exists", AlreadyExistsError, "another name"),
        (409, "Conflict", "the object has been modified", DevctlError, "repeat"),
        (422, "Invalid", "spec.size: Invalid value", UsageError, "change what"),
        (400, "", "Client sent an HTTP request to an HTTPS server.", UsageError, "https://"),
        (429, "TooManyRequests", "too many", DevctlError, "in a moment"),
        (500, "InternalError", "etcd is gone", DevctlError, "in a moment"),
        (504, "Timeout", "took too long", WaitTimeoutError, "in a moment"),
        (418, "", "I am a teapot", DevctlError, "doctor"),
    ],
)
def test_every_answer_says_what_to_do(
    code: int, reason: str, message: str, kind: type[DevctlError], fix: str
) -> None:
    error = refusal({"code": code, "reason": reason, "message": message})
    assert type(error) is kind
    assert fix in error.fix


CANNOT = 'it is forbidden: User "alice" cannot list resource'


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [
        (
            403,
            f'{CANNOT} "servers" in API group "example.com" in the namespace "team"',
            "you (`alice`) may not list servers in namespace `team`",
        ),
        (
            403,
            f'{CANNOT} "nodes" in API group "" at the cluster scope',
            "you (`alice`) may not list nodes in the whole cluster",
        ),
        (
            422,
            'Server.example.com "lab" is invalid: spec.size: Invalid value: "much": name a size',
            '`lab` is not valid: spec.size: Invalid value: "much": name a size',
        ),
    ],
)
def test_what_the_api_server_says_is_told_in_few_words(code: int, said: str, told: str) -> None:
    assert refusal({"code": code, "message": said}).message == told


def test_a_missing_namespace_is_named() -> None:
    details = {"kind": "namespaces", "name": "x"}
    error = refusal({"code": 404, "message": 'namespaces "x" not found', "details": details})
    assert error.fix == "name another namespace with -n"


def test_a_certificate_is_found_among_the_causes() -> None:
    cause = ssl.SSLCertVerificationError(1, "failed")
    cause.verify_message = "certificate has expired"
    middle = OSError("failed")
    middle.__context__ = cause
    trusted = pytest.raises(DevctlError, match="not trusted: certificate has expired")
    with trusted, explained(SERVER):
        raise httpx2.ConnectError("failed") from middle


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (httpx2.ReadTimeout("x"), WaitTimeoutError, "does not answer in time"),
        (httpx2.UnsupportedProtocol("x"), UsageError, "not an address"),
        (httpx2.ReadError("[Errno 104] reset"), DevctlError, "was lost: reset"),
        (httpx2.ConnectError(""), DevctlError, "reached: ConnectError"),
        (httpx2.InvalidURL("bad\nport"), UsageError, "bad port"),
    ],
)
def test_connections_that_fail(raised: Exception, kind: type[DevctlError], words: str) -> None:
    with pytest.raises(kind, match=words), explained(SERVER):
        raise raised


def test_a_connection_whose_tls_fails() -> None:
    with pytest.raises(DevctlError, match="no TLS connection"), explained(SERVER):
        raise httpx2.ConnectError("x") from ssl.SSLError(1, "alert")


def test_errors_of_our_own_stay_as_they_are() -> None:
    with pytest.raises(NotFoundError, match="mine"), explained(SERVER):
        raise NotFoundError("mine")
    with pytest.raises(KeyError, match="a mistake of ours"), explained(SERVER):
        raise KeyError("a mistake of ours")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message": "why", "reason": "Because"}', "why"),
        (b'{"other": 1}', '{"other": 1}'),
        (b"[1]", "[1]"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", "Not Found"),
    ],
)
def test_answers_without_a_status_get_one(body: bytes, message: str) -> None:
    found = parse_status(404, body)
    assert (found["code"], found["message"]) == (404, message)


def test_echoes_are_left_out() -> None:
    echo = "Internal error occurred: "
    assert one_line(f"{echo}{echo}{echo}it broke") == f"{echo}it broke"


@given(st.text())
def test_a_line_is_one_line_and_can_be_shown(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 600
    assert line.isprintable()
