"""Of which node a service account's token is."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.identity.reviews import AGENT, AUDIENCE, reviewed_node

NODE = "authentication.kubernetes.io/node-name"


def review(**changes: Any) -> dict[str, Any]:
    return {
        "authenticated": True,
        "audiences": [AUDIENCE],
        "user": {"username": AGENT, "extra": {NODE: ["node-1"]}},
        **changes,
    }


def test_an_agents_token_says_its_node() -> None:
    assert reviewed_node(review()) == "node-1"


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"error": "token expired"},
        review(authenticated=False),
        review(audiences=["https://kubernetes.default.svc"]),
        review(audiences=[]),
        review(user={}),
        review(user={"username": AGENT}),
        review(user={"username": AGENT, "extra": {NODE: []}}),
        review(user={"username": AGENT, "extra": {NODE: ["node-1", "node-2"]}}),
        review(user={"username": f"{AGENT}-2", "extra": {NODE: ["node-1"]}}),
        review(user={"username": "system:node:node-1", "extra": {NODE: ["node-1"]}}),
    ],
    ids=str,
)
def test_other_tokens_are_refused(status: dict[str, Any]) -> None:
    with pytest.raises(UnauthenticatedError):
        reviewed_node(status)
