"""The one tree of exceptions below HTTP; `http/problems.py` says what each is answered with.

GatewayError                  something went wrong
├── UnauthenticatedError      who asks is not proven; 401
├── ForbiddenError            it is proven, and they may not; 403
├── NotFoundError             nothing has that ID, or what has it is somebody else's; 404
├── ConflictError             something is in the way as it is now; 409
├── InvalidError              the request itself makes no sense; 422
├── TooManyRequestsError      they ask too often; 429
└── UnavailableError          something that this depends on does not answer; 503
    ├── ClusterError          Kubernetes
    │   └── RejectedError     it finds an object invalid, and will whenever it is asked
    └── IssuerError           whoever has the keys of JSON Web Tokens
"""

from __future__ import annotations


class GatewayError(Exception):
    """Says what happened and what to do about it. Neither text has a secret in it.

    Args:
        message: What happened, one line.
        fix: What the reader can do, one line; empty where nothing sensible can be said.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        """Keep both lines apart."""
        self.message, self.fix = message, fix
        super().__init__(message)


class UnauthenticatedError(GatewayError):
    """Who asks is not proven."""


class ForbiddenError(GatewayError):
    """Who asks may not."""


class NotFoundError(GatewayError):
    """Nothing has that ID, or what has it is somebody else's."""


class ConflictError(GatewayError):
    """Something is in the way as it is now."""


class InvalidError(GatewayError):
    """The request itself makes no sense."""


class TooManyRequestsError(GatewayError):
    """They ask too often.

    Args:
        message: What happened, one line.
        fix: What the reader can do, one line.
        retry_after: Seconds until the next request can succeed.
    """

    def __init__(self, message: str, fix: str = "", *, retry_after: int) -> None:
        """Keep when to ask again."""
        super().__init__(message, fix)
        self.retry_after = retry_after


class UnavailableError(GatewayError):
    """Something that this depends on does not answer, or refuses."""


class ClusterError(UnavailableError):
    """The API server, or a node, does not answer, or refuses."""


class RejectedError(ClusterError):
    """The API server finds an object invalid: to repeat the request changes nothing."""


class IssuerError(UnavailableError):
    """The keys of an issuer of JSON Web Tokens cannot be had."""
