"""Images that the local cluster has under a name as people write it."""

from __future__ import annotations

import json
import re

import yaml

from devctl.local.paths import REPOSITORY

DOCUMENT = REPOSITORY / "config" / "local" / "names_without_registry.yaml"
# Where an image without a registry is looked for.
LIBRARY = "docker.io/library/"


def patterns() -> set[str]:
    return set(re.findall(r"matches\('([^']+)'\)", DOCUMENT.read_text()))


def aliases() -> set[str]:
    found = set()
    for file in REPOSITORY.glob("images/*/image.json"):
        found |= set(json.loads(file.read_text()).get("aliases", []))
    return {name for name in found if name.startswith(LIBRARY)}


def test_pods_find_every_image_that_has_such_a_name_and_no_other() -> None:
    (pattern,) = patterns()
    assert aliases()
    for alias in aliases():
        short = alias.removeprefix(LIBRARY)
        for written in (alias, short, short.removesuffix(":latest"), f"docker.io/{short}"):
            assert re.search(pattern, written)
    for other in (
        "busybox:1.36",
        "busyboxes",
        "ghcr.io/a/busybox",
        "a/busybox",
        "busybox@sha256:0",
    ):
        assert not re.search(pattern, other)
    names = {alias.removeprefix(LIBRARY).removesuffix(":latest") for alias in aliases()}
    assert f"({'|'.join(sorted(names))})" in pattern


def test_a_pod_is_not_refused_because_it_is_not_helped() -> None:
    policy, binding = yaml.safe_load_all(DOCUMENT.read_text())
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
