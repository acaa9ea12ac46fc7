"""What the role `devserver_user` renders."""

from __future__ import annotations

from typing import Any

import pytest
from apply.errors import ApplyError
from devserver_user.network import egress
from devserver_user.quota import hard
from devserver_user.values import identity, values
from unit.plugins.templates import HOSTILE, rendered

from devctl.local.settings import POOL

RETAINED = {"devops.yourcompany.com/retained": "true"}


def user(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "alice"}, "spec": {"username": "alice@company.com"} | spec}


def render(
    owner: dict[str, Any],
    settings: dict[str, str] | None = None,
    claims: Any = (),
    kueue: Any = (),
    teams: Any = (),
) -> dict[tuple[str, str], dict[str, Any]]:
    """All manifests by kind and name."""
    names = values(
        owner,
        settings=[{"data": settings or {}}],
        claims=claims,
        kueue=kueue,
        teams=teams,
        existing=(),
    ).names
    found = rendered("devserver_user", names)
    return {(thing["kind"], thing["metadata"]["name"]): thing for thing in found}


def test_all_is_in_the_namespace() -> None:
    things = render(user(sharedStorage={"size": "1Gi", "storageClassName": "devctl-shared"}))
    spaces = {things[key]["metadata"].get("namespace", key[1]) for key in things}
    assert spaces == {"dev-alice"}


def test_what_outlives_the_user_is_retained_and_access_is_not() -> None:
    kept = {
        key[0]
        for key, thing in render(user()).items()
        if RETAINED.items() <= thing["metadata"].get("annotations", {}).items()
    }
    assert kept == {"Namespace", "ResourceQuota", "LimitRange", "NetworkPolicy"}


@pytest.mark.parametrize("username", ["alice@company.com", "oidc:alice@company.com", *HOSTILE])
def test_access_is_the_users_and_of_their_automation(username: str) -> None:
    things = render(user(username=username))
    for role in ("devctl-user", "devctl-job-user"):
        binding = things["RoleBinding", role]
        assert binding["roleRef"]["name"] == role
        assert [who["name"] for who in binding["subjects"]] == [username, "devctl-automation"]
    assert {
        tuple(rule["resourceNames"]) for rule in things["Role", "devctl-acts-for-user"]["rules"]
    } == {(username,)}


def test_a_suspended_users_namespace_says_so() -> None:
    labels = [
        render(user(suspended=suspended))["Namespace", "dev-alice"]["metadata"]["labels"]
        for suspended in (True, False)
    ]
    assert [found["devops.yourcompany.com/suspended"] for found in labels] == ["true", "false"]


def test_a_quota_bounds_what_the_spec_names() -> None:
    assert hard({}) == {}
    assert hard({"gpus": 2, "cpu": "16", "memory": "64Gi", "storage": "1Ti", "servers": 3}) == {
        "requests.nvidia.com/gpu": "2",
        "requests.cpu": "16",
        "requests.memory": "64Gi",
        "requests.storage": "1Ti",
        "count/devservers.devops.yourcompany.com": "3",
    }


def test_a_shared_claim_keeps_its_class_and_only_grows() -> None:
    spec = {"storageClassName": "old", "resources": {"requests": {"storage": "2Gi"}}}
    there = [{"metadata": {"name": "alice-shared-efs"}, "spec": spec}]
    wanted = user(sharedStorage={"size": "1Gi", "storageClassName": "devctl-shared"})
    claim = render(wanted, claims=there)["PersistentVolumeClaim", "alice-shared-efs"]
    assert claim["spec"]["storageClassName"] == "old"
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert claim["metadata"]["annotations"] == {
        "devops.yourcompany.com/owner-name": "alice@company.com"
    }


def test_by_default_the_internet_is_reached_and_nothing_private() -> None:
    four, six = egress({})
    assert four["cidr"] == "0.0.0.0/0"
    assert {"10.0.0.0/8", "169.254.0.0/16"} <= set(four["except"])
    # Those of a local cluster.
    assert str(POOL) in four["except"]
    assert six["cidr"] == "::/0"
    assert "fc00::/7" in six["except"]


def test_settings_decide_what_is_reached() -> None:
    settings = {"networkAllow": "10.0.0.5/32, 10.0.1.0/24", "networkInternet": "false"}
    assert [block["cidr"] for block in egress(settings)] == ["10.0.0.5/32", "10.0.1.0/24"]
    policy = render(user(), settings)["NetworkPolicy", "devctl-network"]
    blocks = [
        to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule["to"] if "ipBlock" in to
    ]
    assert blocks == egress(settings)


@pytest.mark.parametrize("text", ["10.0.0.1/8", "everything"])
def test_a_range_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(ApplyError, match="networkDeny"):
        egress({"networkDeny": text})


def test_the_same_object_name_for_another_person_has_another_identity() -> None:
    assert identity(user()) != identity(user(username="bob@company.com"))
