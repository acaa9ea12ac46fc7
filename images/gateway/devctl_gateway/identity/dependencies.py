"""Who asks, as parameters of endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from devctl_gateway.errors import ForbiddenError
from devctl_gateway.identity.gate import Gate
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.identity.registrar import Registration


class _Proof(SecurityBase):
    """A dependency that OpenAPI has as the bearer of something."""

    scheme_name = "bearer"
    model = HTTPBearer(
        description="A JSON Web Token or an API key; to register a node, a registration token, too."
    )


class _Authenticated(_Proof):
    async def __call__(self, request: Request) -> Principal:
        """Who asks: a user with a JSON Web Token, or whoever an API key is of.

        Raises:
            UnauthenticatedError: It is not proven.
            TooManyRequestsError: They ask too often.
        """
        return await _gate(request).principal(request.headers.getlist("authorization"))


class _Registering(_Proof):
    async def __call__(self, request: Request) -> Registration:
        """Leave to register a node: by a registration token, its service account, or a role.

        Raises:
            UnauthenticatedError: It is not proven.
            ForbiddenError: It is proven, and they may not.
            TooManyRequestsError: They ask too often.
        """
        return await _gate(request).registration(request.headers.getlist("authorization"))


def _gate(request: Request) -> Gate:
    return cast("Gate", request.app.state.gate)


authenticated = _Authenticated()
Caller = Annotated[Principal, Depends(authenticated)]
"""The parameter of an endpoint that everybody known may use."""
NodeCaller = Annotated[Principal, Security(authenticated, scopes=[Role.NODE.value])]
"""The same, for OpenAPI: of an endpoint that answers everybody but nodes that nothing is there."""


def require(*roles: Role) -> Callable[[Principal], Awaitable[Principal]]:
    """A dependency that lets pass who has one of some roles, as the parameter's value.

    An admin has the roles operator and user as well, an operator the role user. OpenAPI has them in
    the operation's security requirement.
    """
    caller = Security(authenticated, scopes=[role.value for role in roles])

    async def allowed(principal: Principal = caller) -> Principal:
        if principal.roles.isdisjoint(roles):
            names = " or ".join(f"`{role}`" for role in roles)
            raise ForbiddenError(
                f"this needs the role {names}", "ask an administrator for it, or use another key"
            )
        return principal

    return allowed


Registrar = Annotated[Registration, Depends(_Registering())]
"""The parameter of the endpoint that registers nodes."""
