"""config/crd, rbac, manager and seed-names against a real API server, each on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("installed")
SPACE = "gpu-orchestrator-system"


@pytest.fixture(scope="module")
def space(kubectl: Kubectl) -> Iterator[str]:
    """The namespace, which a dry run does not create."""
    kubectl("create", "namespace", SPACE)
    yield SPACE
    kubectl("delete", "namespace", SPACE, "--wait=false")


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize("folder", ["crd", "rbac", "manager", "seed-names"])
def test_a_folder_can_be_applied_as_written(kubectl: Kubectl, folder: str) -> None:
    path = str(REPOSITORY / "config" / folder)
    options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    said = kubectl("apply", *options, "-k", path).splitlines()
    assert said
    assert all(line.endswith("serverside-applied (server dry run)") for line in said)


def test_every_account_of_the_overlay_is_in_its_namespace(kubectl: Kubectl) -> None:
    text = kubectl("kustomize", str(REPOSITORY / "config/seed-names"))
    things = list(yaml.safe_load_all(text))
    subjects = [s for thing in things for s in thing.get("subjects", [])]
    assert {s["namespace"] for s in subjects if s["kind"] == "ServiceAccount"} == {SPACE}
    named = {t["metadata"]["namespace"] for t in things if "namespace" in t["metadata"]}
    assert named == {SPACE}
    kinds = {(t["kind"], t["metadata"]["name"]) for t in things}
    assert ("Deployment", "gpu-orchestrator-controller-manager") in kinds
    assert ("Service", "gpu-orchestrator-controller-manager-metrics") in kinds
    assert ("Namespace", SPACE) in kinds
