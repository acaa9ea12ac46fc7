"""A server's hooks and activity probe in the values and manifests of its role."""

from __future__ import annotations

import doctest
import json
import shlex
from typing import Any

import yaml
from devserver import hooks, probe
from devserver.probe import probe_variables
from hypothesis import given
from hypothesis import strategies as st
from unit.plugins.templates import HOSTILE, TEXT, rendered
from unit.plugins.test_devserver import Thing, environment, pod, server, stateful_set, values

from devctl.api.hooks import MAX_HOOKS
from devctl.api.labels import HOOKS, MADE_FROM
from devctl.local.paths import REPOSITORY

SAVE = {"name": "save", "script": "echo saved\n", "timeout": "30s"}
PUSH = {"name": "push", "script": "#!/usr/bin/env python3\npass\n", "timeout": 90}
ANNOTATIONS = 262144
"""Bytes that the API server allows all annotations of an object."""


def with_hooks(*hooks: Thing, **spec: Any) -> Thing:
    return server(lifecycle={"hooks": list(hooks)}, **spec)


def by_kind(made: Thing) -> dict[str, list[Thing]]:
    found: dict[str, list[Thing]] = {}
    for manifest in rendered("devserver", made):
        found.setdefault(manifest["kind"], []).append(manifest)
    return found


def config_maps(manifests: dict[str, list[Thing]]) -> list[Thing]:
    """Those with hooks."""
    return [m for m in manifests["ConfigMap"] if "list" in (m["data"] or {})]


def mounted(manifests: dict[str, list[Thing]]) -> dict[str, str]:
    """The ConfigMaps that pods mount, by path."""
    (stateful,) = manifests["StatefulSet"]
    spec = stateful["spec"]["template"]["spec"]
    volumes = {v["name"]: v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v}
    (container,) = spec["containers"]
    return {
        mount["mountPath"]: volumes[mount["name"]]
        for mount in container["volumeMounts"]
        if mount["name"] in volumes
    }


def test_hooks_reach_the_pods_with_the_time_that_they_need() -> None:
    manifests = by_kind(values(with_hooks(SAVE, PUSH)))

    (config_map,) = config_maps(manifests)
    assert config_map["immutable"] is True
    assert config_map["data"] == {
        "list": "save 30\npush 90\n",
        "save.hook": SAVE["script"],
        "push.hook": PUSH["script"],
    }
    assert mounted(manifests)["/opt/devctl-hooks"] == config_map["metadata"]["name"]
    (stateful,) = manifests["StatefulSet"]
    template = stateful["spec"]["template"]
    assert template["spec"]["terminationGracePeriodSeconds"] == 30 + 30 + 90
    assert template["metadata"]["annotations"][HOOKS] == "save,push"


def test_without_hooks_nothing_is_mounted_or_applied() -> None:
    manifests = by_kind(values(server()))

    assert list(mounted(manifests)) == ["/opt/devctl"]
    (stateful,) = manifests["StatefulSet"]
    template = stateful["spec"]["template"]
    assert template["spec"]["terminationGracePeriodSeconds"] == 30
    assert HOOKS not in template["metadata"]["annotations"]
    assert config_maps(manifests) == []


def test_a_running_server_keeps_the_hooks_that_it_started_with() -> None:
    before = values(with_hooks(SAVE))
    changed = with_hooks(SAVE | {"script": "echo other\n"})

    running = values(changed, stateful_set(before))

    assert running["hooks"]["config_map"] == before["hooks"]["config_map"]
    assert running["hooks"]["files"] == {}, "what it was applied with is not known any more"
    assert values(server(), stateful_set(before))["hooks"]["names"] == "save"
    assert values(with_hooks(SAVE), stateful_set(before)) == before
    started = values(changed, stateful_set(before), pods=[])
    assert started["hooks"]["config_map"] != before["hooks"]["config_map"]
    assert started["hooks"]["files"]["save.hook"] == "echo other\n"


def test_a_stopped_server_needs_no_scripts() -> None:
    before = values(with_hooks(SAVE))
    stopped = values(with_hooks(SAVE, stopped=True), stateful_set(before), pods=[pod(going=True)])

    assert stopped["hooks"]["files"] == {}


def test_the_order_of_hooks_is_part_of_the_name() -> None:
    one, other = values(with_hooks(SAVE, PUSH)), values(with_hooks(PUSH, SAVE))

    assert one["hooks"]["config_map"] != other["hooks"]["config_map"]


def test_the_record_of_the_largest_hooks_fits_into_an_annotation() -> None:
    hooks = [
        {"name": f"h{n}", "script": "\u20ac" * 5461, "timeout": "1m"} for n in range(MAX_HOOKS)
    ]
    made = values(with_hooks(*hooks))

    assert len(made["annotations"][MADE_FROM]) < ANNOTATIONS / 32
    assert "\u20ac" not in json.loads(made["annotations"][MADE_FROM])["spec"]["lifecycle.hooks"]


@given(st.sampled_from(HOSTILE) | TEXT)
def test_a_script_is_never_read_as_a_template(script: str) -> None:
    manifests = by_kind(values(with_hooks(SAVE | {"script": script})))

    (config_map,) = config_maps(manifests)
    assert config_map["data"]["save.hook"] == script


def test_its_examples_hold() -> None:
    assert doctest.testmod(hooks).failed == doctest.testmod(probe).failed == 0


def test_the_role_applies_hooks_before_the_pods_that_mount_them() -> None:
    (task,) = yaml.safe_load((REPOSITORY / "roles/devserver/tasks/main.yml").read_text())
    templates = task["apply"]["templates"]

    assert templates.index("hooks.yaml.j2") < templates.index("statefulset.yaml.j2")


PROBE = {"exec": {"command": ["sh", "-c", "exit $(id -u)"]}, "periodSeconds": 30}


def test_the_script_is_told_what_to_ask() -> None:
    made = values(server(lifecycle={"activityProbe": PROBE}))

    assert {name: text for name, text in environment(made).items() if "PROBE" in name} == {
        # The kubelet would expand `$(id -u)`.
        "DEVCTL_PROBE": "exec sh -c 'exit $$(id -u)'",
        "DEVCTL_PROBE_PERIOD": "30",
        "DEVCTL_PROBE_TIMEOUT": "5",
    }
    assert "DEVCTL_PROBE" not in environment(values(server()))


def test_a_running_server_keeps_the_probe_that_it_started_with() -> None:
    before = values(server(lifecycle={"activityProbe": PROBE}))
    other = {"activityProbe": {"httpGet": {"port": 8080, "path": "/"}}}

    assert values(server(lifecycle=other), stateful_set(before)) == before
    started = values(server(lifecycle=other), stateful_set(before), pods=[])
    assert environment(started)["DEVCTL_PROBE"] == "http 8080 /"


@given(st.lists(TEXT, min_size=1))
def test_arguments_are_words_for_a_shell(command: list[str]) -> None:
    variables = probe_variables({"exec": {"command": command}})

    assert shlex.split(variables["DEVCTL_PROBE"]) == ["exec", *command]
