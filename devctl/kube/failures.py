"""Errors of requests to the API server, as messages that people can act on."""

from __future__ import annotations

import re
import ssl
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
import msgspec

from devctl.errors import (
    AlreadyExistsError,
    DeniedError,
    DevctlError,
    FieldConflictError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.text import one_line as shown

if TYPE_CHECKING:
    from collections.abc import Iterator

_Error = TypeVar("_Error", bound=BaseException)
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_LONGEST = 600
"""Characters of an answer to show: a proxy may answer with a whole page."""
_CHANGE = "change what it names, and repeat the command"
_INVALID = re.compile(r'^\S+ "([^"]*)" is invalid')
_MAY_NOT = re.compile(
    r'.*User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "[^"]*"'
    r' (?:in the namespace "([^"]+)"|at the cluster scope)'
)
_POLICY = re.compile(
    r"^.* is forbidden: ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: "
)
"""What precedes the words of a policy, which say all that a person needs."""
_MANAGER = re.compile(r'"([^"]*)"')
NO_SUCH_KIND = "NoSuchKind"
"""The reason of an error if the cluster does not know a kind, or a path."""
_ECHO = "Internal error occurred: "
"""The prefix that each server on the way adds."""
_CHECK_ADDRESS = "check the address in the kubeconfig, the network and the VPN; see `devctl doctor`"
_CHECK_PROXY = "check `proxy-url` in the kubeconfig, HTTPS_PROXY and NO_PROXY"


@contextmanager
def explained(server: str) -> Iterator[None]:
    """Turn the errors of requests to a server into our own.

    Raises:
        NotFoundError: The object, or its kind, does not exist.
        DeniedError: Rights, a quota, or expired credentials forbid it.
        AlreadyExistsError: There is one of that name.
        WaitTimeoutError: The answer took too long.
        DevctlError: Anything else.
    """
    try:
        yield
    except httpx2.TimeoutException as error:
        raise WaitTimeoutError(f"{server} does not answer in time", _CHECK_ADDRESS) from error
    except httpx2.RequestError as error:
        raise unreachable(server, error) from error
    except httpx2.InvalidURL as error:
        raise UsageError(
            f"the kubeconfig cannot be used: {one_line(str(error))}",
            "fix it, or name another one with --kubeconfig",
        ) from error
    except msgspec.MsgspecError as error:
        raise DevctlError(
            f"{server} answers what no Kubernetes API server would: {one_line(str(error))}",
            _CHECK_ADDRESS,
        ) from error


def check(answer: httpx2.Response) -> None:
    """Raise the error that an answer holds, if any."""
    if answer.is_error:
        raise refusal(parse_status(answer.status_code, answer.read()))


def parse_status(code: int, body: bytes) -> dict[str, Any]:
    """The Status in the body of an answer, or one made of its text."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = None
    if isinstance(found, dict) and (found.get("message") or found.get("reason")):
        return {"code": code, **found}
    text = one_line(body.decode(errors="replace"))
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else "an error"
    return {"code": code, "message": text or phrase}


def refusal(status: dict[str, Any]) -> DevctlError:  # noqa: C901, PLR0911, PLR0912 - one a kind
    """The error for a Status of the API server."""
    code, reason = int(status.get("code") or 0), str(status.get("reason") or "")
    message = one_line(str(status.get("message") or reason or "the API server refused"))
    match code:
        case HTTPStatus.NOT_FOUND:
            return _missing(message, status)
        case HTTPStatus.UNAUTHORIZED:
            return DeniedError(
                "the API server does not accept your credentials: expired, or of another cluster",
                "log in to the cluster again, or get a new kubeconfig",
            )
        case HTTPStatus.FORBIDDEN:
            return _forbidden(message)
        case HTTPStatus.CONFLICT if fields := _managers(status):
            return FieldConflictError(fields)
        case HTTPStatus.CONFLICT if reason == "Conflict":
            fix = "it was changed meanwhile: repeat the command"
            return DevctlError(message, fix, reason=reason)
        case HTTPStatus.CONFLICT:
            return AlreadyExistsError(message, "choose another name, or delete that one first")
        case HTTPStatus.GATEWAY_TIMEOUT | HTTPStatus.REQUEST_TIMEOUT:
            return WaitTimeoutError(f"the API server gave up: {message}", "try again in a moment")
        case HTTPStatus.TOO_MANY_REQUESTS:
            return DevctlError(f"the API server is busy: {message}", "try again in a moment")
        case HTTPStatus.BAD_REQUEST if "HTTP request to an HTTPS server" in message:
            return UsageError(message, "have `server` in the kubeconfig begin with https://")
        case HTTPStatus.UNPROCESSABLE_ENTITY:
            return UsageError(_INVALID.sub(r"`\1` is not valid", message), _CHANGE)
        case HTTPStatus.BAD_REQUEST:
            return DevctlError(message, _CHANGE)
        case code if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            fix = "try again in a moment; if it persists, see `devctl doctor`"
            return DevctlError(f"the API server failed: {message}", fix)
        case _:
            return DevctlError(message, "see `devctl doctor`")


def unreachable(server: str, error: Exception) -> DevctlError:
    """The error for a failed connection to a server."""
    why = one_line(_ERRNO.sub("", str(error))) or type(error).__name__
    if certificate := _cause(error, ssl.SSLCertVerificationError):
        return DevctlError(
            f"the certificate of {server} is not trusted: {certificate.verify_message or why}",
            "check certificate-authority in the kubeconfig, the address, and this machine's clock",
        )
    if _cause(error, ssl.SSLError):
        return DevctlError(
            f"no TLS connection to {server}: {why}",
            "check the address and the client certificate in the kubeconfig",
        )
    if isinstance(error, httpx2.ProxyError):
        return DevctlError(f"the proxy does not lead to {server}: {why}", _CHECK_PROXY)
    if isinstance(error, httpx2.UnsupportedProtocol):
        return UsageError(
            f"`{server}` is not an address of an API server", "fix `server` in the kubeconfig"
        )
    if isinstance(error, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError):
        return DevctlError(
            f"the connection to {server} was lost: {why}", "try again; see `devctl doctor`"
        )
    return DevctlError(f"{server} cannot be reached: {why}", _CHECK_ADDRESS)


def one_line(text: str) -> str:
    r"""A text as one line of printable characters, cut to a length.

    >>> one_line("two\n  lines")
    'two lines'
    """
    line = shown(" ".join(text.split()))
    line = re.sub(f"({_ECHO})+", _ECHO, line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _missing(message: str, status: dict[str, Any]) -> NotFoundError:
    if "could not find the requested resource" in message or "page not found" in message:
        return NotFoundError(
            "the cluster does not know what was asked for: devctl may not be installed in it",
            "see `devctl doctor`; an administrator installs it with `make deploy`",
            reason=NO_SUCH_KIND,
        )
    kind = str((status.get("details") or {}).get("kind") or "")
    if kind == "namespaces":
        return NotFoundError(message, "name another namespace with -n", kind=kind)
    return NotFoundError(message, "check its name, and the namespace with -n", kind=kind)


def _managers(status: dict[str, Any]) -> dict[str, str]:
    """The managers of the fields in conflict, by field."""
    found: dict[str, str] = {}
    for cause in (status.get("details") or {}).get("causes") or []:
        if cause.get("reason") == "FieldManagerConflict":
            who = _MANAGER.search(str(cause.get("message")))
            found[str(cause.get("field"))] = who[1] if who else "somebody else"
    return found


def _forbidden(message: str) -> DeniedError:
    if '"system:anonymous"' in message:
        return DeniedError(
            "the API server does not know who you are: the kubeconfig holds no credentials for it",
            "log in to the cluster, or get a new kubeconfig",
        )
    if "exceeded quota" in message:
        fix = "stop or delete something in this namespace, or ask an administrator for more"
    elif "status unknown for quota" in message:
        fix = "the quota is new and its use is being counted: try again in a moment"
    elif "is being terminated" in message:
        fix = "the namespace is being deleted: name another one with -n"
    elif "ValidatingAdmissionPolicy" in message or "admission webhook" in message:
        message, fix = _POLICY.sub("", message), _CHANGE
    else:
        fix = "ask an administrator for that right, or name another namespace with -n"
        if found := _MAY_NOT.match(message):
            user, verb, what, namespace = found.groups()
            where = f"in namespace `{namespace}`" if namespace else "in the whole cluster"
            message = f"you (`{user}`) may not {verb} {what} {where}"
    return DeniedError(message, fix)


def _cause(error: BaseException | None, kind: type[_Error]) -> _Error | None:
    """The cause of an error, if it is of a kind."""
    while error is not None:
        if isinstance(error, kind):
            return error
        error = error.__cause__ or error.__context__
    return None
