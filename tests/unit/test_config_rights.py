"""The rights that config/rbac grants to people who are not administrators."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from support.audit import granted

from devctl.local.paths import REPOSITORY

CONFIG = REPOSITORY / "config"
NOT_OF_USERS = re.compile(r"devctl-(operator|observer|administrator)(-|$)")
WRITES = {"update", "patch"}
HOMES = ("", "persistentvolumeclaims")


def documents(folder: str) -> list[dict[str, Any]]:
    paths = sorted((CONFIG / folder).glob("*.yaml"))
    return [document for path in paths for document in yaml.safe_load_all(path.read_text())]


ROLES = {
    document["metadata"]["name"]: document
    for document in documents("rbac")
    if document["kind"] == "ClusterRole"
    and any("resources" in r for r in document.get("rules", ()))
}
OF_USERS = sorted(name for name in ROLES if not NOT_OF_USERS.match(name))
OWN = {
    (crd["spec"]["group"], crd["spec"]["names"]["plural"])
    for crd in documents("crd")
    if crd["kind"] == "CustomResourceDefinition" and crd["spec"]["scope"] == "Namespaced"
}


def test_the_roles_of_users_are_found() -> None:
    parts = {
        name
        for name, role in ROLES.items()
        if role["metadata"].get("labels", {}).get("devops.yourcompany.com/part-of-role")
        in {"devctl-user", "devctl-job-user"}
    }
    assert len(parts) >= 6
    assert parts | {"devctl-team-view", "devctl-team-stop"} <= set(OF_USERS)
    assert HOMES in {right[:2] for name in parts for right in granted(ROLES[name])}


@pytest.mark.parametrize("name", OF_USERS)
def test_users_change_objects_of_our_kinds_only(name: str) -> None:
    """The owner of a home is an annotation, and so in reach of anyone who may patch the claim."""
    changed = {(group, kind) for group, kind, _, verb in granted(ROLES[name]) if verb in WRITES}
    assert changed <= OWN


@pytest.mark.parametrize("name", OF_USERS)
def test_rights_of_users_have_no_wildcards(name: str) -> None:
    assert not [right for right in granted(ROLES[name]) if "*" in right]
