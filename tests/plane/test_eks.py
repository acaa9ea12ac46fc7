"""config/eks against a real API server: it takes all of it, and volumes are what EKS needs.

No EBS and no EFS are here: the drivers' parameters are compared with what their manuals ask for.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.client.doctor import HOME_CLASS, SHARED_CLASS
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
    # A provisioner cannot be changed, and the plane has its own: the classes get other names.
    tried = deepcopy(things)
    for thing in tried:
        if thing["kind"] == "StorageClass":
            thing["metadata"]["name"] += "-eks"
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": tried})
    options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    said = kubectl("apply", *options, "-f", "-", input=listed).splitlines()
    assert len(said) == len(things)
    assert all(line.endswith("serverside-applied (server dry run)") for line in said)


@pytest.fixture(scope="module")
def classes(things: list[Thing]) -> dict[str, Thing]:
    """Its storage classes, by name."""
    return {t["metadata"]["name"]: t for t in things if t["kind"] == "StorageClass"}


def test_the_classes_are_those_that_claims_name(
    things: list[Thing], classes: dict[str, Thing]
) -> None:
    schemas = json.dumps([t for t in things if t["kind"] == "CustomResourceDefinition"])
    assert classes.keys() == {HOME_CLASS, SHARED_CLASS}
    assert f'"default": "{SHARED_CLASS}"' in schemas
    role = (REPOSITORY / "roles/devserver/templates/homes.yaml.j2").read_text()
    assert f"storageClassName: {HOME_CLASS}\n" in role


@pytest.mark.parametrize("name", [HOME_CLASS, SHARED_CLASS])
def test_files_outlive_their_claim(classes: dict[str, Thing], name: str) -> None:
    assert classes[name]["reclaimPolicy"] == "Retain"


def test_a_home_is_an_encrypted_volume_in_the_zone_of_its_pod(classes: dict[str, Thing]) -> None:
    home = classes[HOME_CLASS]
    assert home["provisioner"] == "ebs.csi.aws.com"
    assert home["parameters"]["encrypted"] == "true"
    # EBS is in one zone: a volume that is made before its pod is placed may be in another.
    assert home["volumeBindingMode"] == "WaitForFirstConsumer"
    # Or a larger `persistentHomeSize` would be refused.
    assert home["allowVolumeExpansion"] is True


def test_a_shared_volume_is_a_folder_of_its_own_for_the_user_of_servers(
    classes: dict[str, Thing],
) -> None:
    shared = classes[SHARED_CLASS]
    found = shared["parameters"]
    assert (shared["provisioner"], found["provisioningMode"]) == ("efs.csi.aws.com", "efs-ap")
    # Two namespaces' claims of one name must not meet in one folder.
    assert found["subPathPattern"] == "${.PVC.namespace}/${.PVC.name}"
    assert found["basePath"] == "/devctl"
    template = (REPOSITORY / "roles/devserver/templates/statefulset.yaml.j2").read_text()
    for name, field in (("uid", "runAsUser"), ("gid", "runAsGroup")):
        assert f"{field}: {found[name]}\n" in template
    assert found["directoryPerms"] == "770"
    assert shared["mountOptions"] == ["tls"]


def test_nothing_is_of_the_local_cluster(things: list[Thing]) -> None:
    (settings,) = (t for t in things if t["metadata"]["name"] == "devctl-settings")
    assert not settings["data"]["loaderImage"].startswith("localhost/")
    assert "image" not in settings["data"], "an administrator sets it, and an upgrade keeps it"
    names = {t["metadata"]["name"] for t in things}
    assert not [name for name in names if "fake-gpu" in name or "longhorn" in name]


def test_its_settings_reach_what_they_are_for(things: list[Thing]) -> None:
    settings = yaml.safe_load((REPOSITORY / "config/eks/settings.yaml").read_text())
    shared = [t for t in things if "efs" in t.get("provisioner", "")]
    assert [t["parameters"]["fileSystemId"] for t in shared] == [settings["data"]["fileSystemId"]]
    assert not [t for t in things if t["metadata"]["name"] == "eks-settings"], "never applied"
