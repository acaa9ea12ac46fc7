"""What config/kueue leaves of the manifests as released."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from devctl.local.paths import REPOSITORY

BASE = REPOSITORY / "config" / "kueue" / "base"
FRAMEWORKS = {"batch/job": "job", "pod": "pod", "statefulset": "statefulset"}
CHANGED = {"namespaceSelector", "objectSelector", "matchConditions"}


def read(name: str) -> list[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return list(yaml.load_all((BASE / name).read_text(), loader))


@pytest.fixture(scope="module")
def upstream() -> list[Any]:
    return read("upstream.yaml")


@pytest.fixture(scope="module")
def settings() -> Any:
    return read("controller_manager_config.yaml")[0]


@pytest.mark.parametrize("sort", ["Mutating", "Validating"])
def test_webhooks_are_those_of_kueue_s_kinds_and_of_the_enabled_frameworks(
    upstream: list[Any], settings: Any, sort: str
) -> None:
    """And but for whom they are called, they are as released."""
    kind = f"{sort}WebhookConfiguration"
    released = next(o["webhooks"] for o in upstream if o["kind"] == kind)
    frameworks = settings["integrations"]["frameworks"]
    names = {f"{sort[0].lower()}{FRAMEWORKS[framework]}.kb.io" for framework in frameworks}
    wanted = {
        w["name"]: w
        for w in released
        if w["name"] in names or w["rules"][0]["apiGroups"] == ["kueue.x-k8s.io"]
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
