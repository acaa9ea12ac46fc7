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


NOT_VALID, OTHER, NO_NODE = "is not valid here", "is not that of agents", "is bound to no node"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, NOT_VALID),
        ({"error": "token expired"}, NOT_VALID),
        (review(authenticated=False), NOT_VALID),
        (review(audiences=["https://kubernetes.default.svc"]), NOT_VALID),
        (review(audiences=[]), NOT_VALID),
        (review(user={}), OTHER),
        (review(user={"username": AGENT}), NO_NODE),
        (review(user={"username": AGENT, "extra": {NODE: []}}), NO_NODE),
        (review(user={"username": AGENT, "extra": {NODE: ["node-1", "node-2"]}}), NO_NODE),
        (review(user={"username": f"{AGENT}-2", "extra": {NODE: ["node-1"]}}), OTHER),
        (review(user={"username": "system:node:node-1", "extra": {NODE: ["node-1"]}}), OTHER),
    ],
    ids=str,
)
def test_other_tokens_are_refused(status: dict[str, Any], said: str) -> None:
    with pytest.raises(UnauthenticatedError, match=said):
        reviewed_node(status)
