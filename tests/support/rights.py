"""What the accounts of devctl's namespace may do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.deployment import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.commands import Kubectl


def rules(kubectl: Kubectl, account: str, namespace: str) -> set[tuple[str, str, str, str]]:
    """What an account may do in a namespace: API group, resource, name, verb."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    # To validate, kubectl would list CRDs, which the account may not.
    options = ("-o", "json", "--validate=false", f"--as=system:serviceaccount:{SYSTEM}:{account}")
    answer = json.loads(kubectl("create", "-f", "-", *options, input=json.dumps(review)))
    assert not answer["status"]["incomplete"]
    return {
        (group, resource, name, verb)
        for rule in answer["status"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        for verb in rule["verbs"]
    }


def own_rules(kubectl: Kubectl, account: str, namespace: str) -> set[tuple[str, str, str, str]]:
    """The same without what everybody may do: an account without any right of its own says that."""
    return rules(kubectl, account, namespace) - rules(kubectl, "nobody", namespace)


def leases(kubectl: Callable[..., str], namespace: str) -> set[str]:
    """Who leads anything in a namespace."""
    found = json.loads(kubectl("get", "leases", "-n", namespace, "-o", "json"))
    return {lease["spec"].get("holderIdentity", "") for lease in found["items"]}
