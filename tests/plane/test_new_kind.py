"""A kind that no policy names is protected by the label of its CustomResourceDefinition."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.tenants import ADMINISTRATOR, ALICE, Manifest, Tenants, child, until, workload

from devctl.api.ephemeral_acceleration_job import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("enforced")

OTHER = "gadgets.example.com"


@contextmanager
def gadgets(kubectl: Kubectl, group: str) -> Iterator[None]:
    """A new kind, which is in no namespace and has children."""
    version = {"name": "v1", "served": True, "storage": True}
    labels = {"devops.yourcompany.com/has-children": "true"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}", "labels": labels},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [version | {"schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }
    kubectl("create", "-f", "-", input=json.dumps(crd))
    try:
        yield
    finally:
        kubectl("delete", "crd", f"gadgets.{group}")


def is_protected(tenants: Tenants, made: Manifest) -> bool:
    """Whether a policy keeps Alice from making it."""
    try:
        tenants.create(ALICE, made)
    except pytest.fail.Exception as refusal:
        return "is written by devctl only" in str(refusal)
    return False


def test_its_children_are(tenants: Tenants) -> None:
    labels = {f"{OTHER}/of": "x"}
    templated = child("StatefulSet") | {"spec": workload({"labels": labels})}
    marked = child("ConfigMap", labels=labels)
    for made in (marked, templated):
        tenants.create(ALICE, made)
    with gadgets(tenants.kubectl, OTHER):
        until(lambda: is_protected(tenants, marked))
        until(lambda: is_protected(tenants, templated))
        for made in (marked, templated):
            tenants.create(ADMINISTRATOR, made)
    until(lambda: not is_protected(tenants, marked))


def test_its_own_metadata_is(tenants: Tenants) -> None:
    kubectl, name = tenants.kubectl, tenants.namespace
    metadata = {"name": "one", "labels": {f"{GROUP}/note": "x"}}
    made = {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": metadata}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [GROUP], "resources": ["gadgets"], "verbs": ["create"]}],
    }
    tenants.create(ADMINISTRATOR, role, keep=True)
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--user={ALICE}")
    with gadgets(kubectl, GROUP):
        until(lambda: is_protected(tenants, made))
        tenants.create(ADMINISTRATOR, made)
    kubectl("delete", "clusterrole,clusterrolebinding", name)
