"""The status of a DevServerUser, and what its role makes."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.control.standard import Seen
from devctl_observer.kinds.users.family import made
from devctl_observer.kinds.users.model import KIND
from devctl_observer.kinds.users.status import user_status

from unit.observer.objects import NOW

APPLIED = {"type": "Applied", "status": "True", "observedGeneration": 2, "reason": "Applied"}
REFUSED = APPLIED | {"status": "False", "reason": "Forbidden", "message": "no"}
EARLIER = APPLIED | {"observedGeneration": 1}


def user(spec: Any = (), **status: Any) -> Any:
    metadata = {"name": "alice", "generation": 2}
    spec = {"username": "alice@company.com", **dict(spec)}
    return KIND.parse({"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Seen(user(conditions=[APPLIED])), ("True", "Ready", "can use namespace `dev-alice`")),
        (Seen(user(conditions=[EARLIER])), ("False", "Applying", "about to be set up")),
        (
            Seen(user(conditions=[APPLIED]), ["Namespace dev-alice"]),
            ("False", "Creating", "Namespace dev-alice does not exist yet"),
        ),
        (Seen(user(conditions=[REFUSED])), ("False", "Forbidden", "no")),
        (
            Seen(user({"suspended": True}, conditions=[APPLIED])),
            ("False", "Suspended", "`devctl admin user resume alice`"),
        ),
    ],
)
def test_a_status_says_what_to_expect(seen: Seen[Any], said: tuple[str, ...]) -> None:
    status = user_status(seen, NOW)
    (ready,) = status["conditions"]
    assert (ready["status"], ready["reason"]) == said[:2]
    assert said[2] in ready["message"]
    assert status["namespace"] == "dev-alice"


def test_it_is_known_what_the_role_makes() -> None:
    found = {str(child) for child in made(user({"namespace": "research"}))}
    assert {"Namespace research", "RoleBinding research/devctl-user"} <= found
