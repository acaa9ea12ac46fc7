"""config/eks against a real API server: it takes all of it, and nothing is left to be filled in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from support.commands import Kubectl
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("installed")

Thing = dict[str, Any]


@pytest.fixture(scope="module")
def things(plane: Plane) -> list[Thing]:
    """What the overlay renders to."""
    return list(yaml.safe_load_all(plane.kubectl("kustomize", str(REPOSITORY / "config/eks"))))


def test_the_api_server_takes_every_object(kubectl: Kubectl, things: list[Thing]) -> None:
    kinds = {thing["kind"] for thing in things}
    assert {"CustomResourceDefinition", "Deployment", "StorageClass"} <= kinds
    for thing in things:
        # Who makes volumes cannot be changed, and here somebody else does: by another name.
        if thing["kind"] == "StorageClass":
            thing["metadata"]["name"] += "-eks"
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    said = kubectl("apply", *options, "-f", "-", input=listed).splitlines()
    assert len(said) == len(things)
    assert all(line.endswith("serverside-applied (server dry run)") for line in said)


def test_its_settings_reach_what_they_are_for(things: list[Thing]) -> None:
    settings = yaml.safe_load((REPOSITORY / "config/eks/settings.yaml").read_text())
    shared = [t for t in things if "efs" in t.get("provisioner", "")]
    assert [t["parameters"]["fileSystemId"] for t in shared] == [settings["data"]["fileSystemId"]]
    assert not [t for t in things if t["metadata"]["name"] == "eks-settings"], "never applied"
