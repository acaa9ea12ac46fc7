"""What endpoints work with."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from devctl_gateway.context import Context


async def context_of(request: Request) -> Context:
    """What there is once in a process."""
    return cast("Context", request.app.state.context)


Inside = Annotated[Context, Depends(context_of)]
"""The parameter of an endpoint that needs the database or the cluster."""
