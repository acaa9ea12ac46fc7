"""The status of a DevServerUser, and what its role makes."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.control.standard import Seen
from devctl_observer.kinds.users.family import made
from devctl_observer.kinds.users.model import KIND
from devctl_observer.kinds.users.status import user_status
from lightkube.models.core_v1 import ResourceQuotaSpec, ResourceQuotaStatus
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ResourceQuota

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


@pytest.mark.parametrize(
    ("counted", "reason"), [({}, "Counting"), ({"requests.cpu": "4", "pods": "5"}, "Ready")]
)
def test_a_user_is_not_ready_before_their_quota_is_counted(
    counted: dict[str, str], reason: str
) -> None:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="devctl-quota"),
        spec=ResourceQuotaSpec(hard={"requests.cpu": "4"}),
        status=ResourceQuotaStatus(hard=counted),
    )
    (ready,) = user_status(Seen(user(conditions=[APPLIED]), children=[quota]), NOW)["conditions"]
    assert ready["reason"] == reason
    assert "requests.cpu" in ready["message"] or reason == "Ready"


def test_it_is_known_what_the_role_makes() -> None:
    found = {str(child) for child in made(user({"namespace": "research"}))}
    assert {"Namespace research", "RoleBinding research/devctl-user"} <= found
