"""What operator and observer have asked of a plane's API server, from its audit log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.plane.plane import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.plane.plane import Plane

Thing = dict[str, Any]
Right = tuple[str, str, str, str]
"""API group, resource, name, verb."""

NAMED = {"leases", "customresourcedefinitions"}
NOT_ASKED = {"bind", "create-for-others"}
"""Verbs that no request has: who gives somebody a role, or a right, is asked for them."""


def asked(plane: Plane, account: str) -> list[dict[str, Any]]:
    """What an account has asked the API server."""
    user = f"system:serviceaccount:{SYSTEM}:devctl-{account}"
    lines = plane.control.audit_log.read_text().splitlines()
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return [event for event in found if event["user"]["username"] == user]


def used(events: list[dict[str, Any]]) -> set[Right]:
    """The rights that requests needed."""
    found = set()
    for event in events:
        about = event.get("objectRef")
        if about is None:
            continue  # what API there is
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        name = about.get("name", "") if resource in NAMED and event["verb"] != "create" else ""
        verbs = {event["verb"]}
        if event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == 201:
            verbs.add("create")
        found |= {(about.get("apiGroup", ""), resource, name, verb) for verb in verbs}
    return found


def denied(events: Iterable[Thing]) -> list[Thing]:
    """The requests that the account had no right to make."""
    return [e for e in events if e["annotations"]["authorization.k8s.io/decision"] != "allow"]


def granted(role: Thing) -> set[Right]:
    """The rights that a ClusterRole gives."""
    return {
        (group, resource, "", verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
