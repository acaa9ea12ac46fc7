"""What config/kueue leaves of Kueue's manifests as released."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.local.part_manifests import base_of
from devctl.local.parts import load_parts
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.commands import Kubectl

CONFIG = REPOSITORY / "config" / "kueue"
CHANGES = CONFIG / "changes"
BASE = re.compile(r"https://github\.com/kubernetes-sigs/kueue//config/default\?ref=(v\S+)")
FRAMEWORKS = {"batch/job": "job", "pod": "pod", "statefulset": "statefulset"}
CHANGED = {"namespaceSelector", "objectSelector", "matchConditions"}

Thing = dict[str, Any]


def load(text: str) -> list[Any]:
    return list(yaml.load_all(text, yaml.CSafeLoader))


def read(name: str) -> list[Any]:
    return load((CHANGES / name).read_text())


def webhooks(things: list[Thing], kind: str) -> dict[str, Thing]:
    return {w["name"]: w for o in things if o["kind"] == kind for w in o["webhooks"]}


@pytest.fixture(scope="module")
def base(programs: Mapping[str, Path]) -> Path:
    return base_of(load_parts()["kueue"], programs)


@pytest.fixture(scope="module")
def upstream(kubectl: Kubectl, base: Path) -> list[Any]:
    return load(kubectl("kustomize", str(base)))


@pytest.fixture(scope="module")
def settings() -> Any:
    return read("controller_manager_config.yaml")[0]


@pytest.mark.parametrize("sort", ["Mutating", "Validating"])
def test_webhooks_are_those_of_kueue_s_kinds_and_of_the_enabled_frameworks(
    upstream: list[Any], settings: Any, sort: str
) -> None:
    """And but for whom they are called, they are as released."""
    released = webhooks(upstream, f"{sort}WebhookConfiguration")
    frameworks = settings["integrations"]["frameworks"]
    names = {f"{sort[0].lower()}{FRAMEWORKS[framework]}.kb.io" for framework in frameworks}
    wanted = {
        name: w
        for name, w in released.items()
        if name in names or w["rules"][0]["apiGroups"] == ["kueue.x-k8s.io"]
    }
    (patch,) = read(f"webhooks_{sort.lower()}.yaml")[0]
    assert (patch["op"], patch["path"]) == ("replace", "/webhooks")
    ours = {w["name"]: w for w in patch["value"]}
    assert {n: same(w) for n, w in ours.items()} == {n: same(w) for n, w in wanted.items()}
    for name, webhook in ours.items():
        assert (name in names) == ("namespaceSelector" in webhook)


def same(webhook: dict[str, Any]) -> dict[str, Any]:
    """What must be as released."""
    return {key: value for key, value in webhook.items() if key not in CHANGED}


@pytest.mark.parametrize("folder", ["kueue", "local/parts/kueue"])
def test_the_api_server_trusts_every_conversion_webhook(upstream: list[Any], folder: str) -> None:
    converted = {
        o["spec"]["names"]["plural"]
        for o in upstream
        if o.get("spec", {}).get("conversion", {}).get("strategy") == "Webhook"
    }
    text = (REPOSITORY / "config" / folder / "kustomization.yaml").read_text()
    named = re.search(r"name: \((\S+)\)\.kueue\.x-k8s\.io", text)
    assert named
    assert set(named[1].split("|")) == converted


@pytest.mark.parametrize("sort", ["mutating", "validating"])
def test_only_objects_in_queues_of_selected_namespaces_are_sent_to_kueue(
    settings: Any, sort: str
) -> None:
    (patch,) = read(f"webhooks_{sort}.yaml")[0]
    selected = [w for w in patch["value"] if "namespaceSelector" in w]
    assert len(selected) == len(FRAMEWORKS)
    for webhook in selected:
        assert webhook["namespaceSelector"] == settings["managedJobsNamespaceSelector"]
        condition = webhook.get("objectSelector") or webhook["matchConditions"]
        assert "kueue.x-k8s.io/queue-name" in str(condition)


def test_production_has_the_same_release_and_gives_every_webhook_a_certificate(
    kubectl: Kubectl, base: Path, tmp_path: Path
) -> None:
    """But for where the release comes from: there is no Internet here."""
    copy = shutil.copytree(CONFIG, tmp_path / "kueue")
    file = copy / "kustomization.yaml"
    found = BASE.search(file.read_text())
    assert found
    modules = (REPOSITORY / "tools" / "kubernetes" / "go.mod").read_text()
    assert f"sigs.k8s.io/kueue {found[1]} " in modules
    file.write_text(file.read_text().replace(found[0], os.path.relpath(base, copy)))
    things = load(kubectl("kustomize", str(copy)))
    images = [
        container["image"]
        for thing in things
        if thing["kind"] == "Deployment"
        for container in thing["spec"]["template"]["spec"]["containers"]
    ]
    assert images == [f"registry.k8s.io/kueue/kueue:{found[1]}"]
    called = [t for t in things if t["kind"].endswith("WebhookConfiguration")]
    called += [t for t in things if t.get("spec", {}).get("conversion")]
    certificate = "kueue-system/kueue-serving-cert"
    assert len(called) > 2
    for thing in called:
        given = thing["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        assert given == certificate, thing["metadata"]["name"]
