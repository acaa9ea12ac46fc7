"""Kubernetes' JSONPath: each template prints what kubectl 1.36 printed for the same object."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.jsonpath import template as compiled
from devctl.client.jsonpath import values
from devctl.errors import UsageError

POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"k8s.io/x": "1"}},
    "spec": {
        "grace": 3,
        "hostNetwork": True,
        "containers": [
            {"name": "a", "image": "i:1", "ports": [{"port": 1}, {"port": 2}]},
            {"name": "b", "image": "i:2", "args": ["x", "y z"]},
        ],
    },
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Odd", "status": "False"}]
    },
}


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("{.metadata.name}", "p"),
        ("{ .metadata.name }", "p"),
        (".metadata.name", ".metadata.name"),
        ("{$.metadata.name}{@.metadata.name}", "pp"),
        ("{.metadata.labels}", '{"k8s.io/x":"1"}'),
        (r"{.metadata.labels.k8s\.io/x}", "1"),
        (r"{.metadata.labels['k8s\.io/x']}", "1"),
        ("{.metadata.labels['k8s.io/x']}", ""),
        ("{.metadata['name','labels']}", 'p {"k8s.io/x":"1"}'),
        ("{.metadata.labels.*}", "1"),
        ("{.spec.hostNetwork} {.spec.grace}", "true 3"),
        ("{.spec.containers[*].name}", "a b"),
        ("{.spec.containers[-1].name}", "b"),
        ("{.spec.containers[0:1].name}", "a"),
        ("{.spec.containers[-1:].name}", "b"),
        ("{.spec.containers[::2].name}", "a"),
        ("{.spec.containers[0,1].name}", "a b"),
        ("{.spec.containers[1].args}", '["x","y z"]'),
        ("{.spec.containers[1]}", '{"args":["x","y z"],"image":"i:2","name":"b"}'),
        ('{.spec.containers[?(@.name=="b")].image}', "i:2"),
        ("{.spec.containers[?(@.name=='b')].image}", "i:2"),
        ('{.spec.containers[?("b"==@.name)].name}', "b"),
        ("{.spec.containers[?(@.args)].name}", "b"),
        ('{.spec.containers[?(@.name>"a")].name}', "b"),
        ('{.spec.containers[?(@.nope=="b")].name}', ""),
        ("{.spec.containers[?(@.ports[0].port==1)].name}", "a"),
        ("{.spec.containers[*].ports[?(@.port>1)].port}", "2"),
        ('{.status.conditions[?(@.type!="Ready")].status}', "False"),
        ("{..name}", "p a b"),
        ("{.nope}", ""),
        ("{.metadata.name.x}", ""),
        ("{.spec.containers.name}", ""),
        ("{.spec.containers[*].nope}x", "x"),
        ('{"a"}{"b"}', "ab"),
        ("text } more", "text } more"),
        ('{range .spec.containers[*]}{.name}{"\\t"}{.image}{"\\n"}{end}', "a\ti:1\nb\ti:2\n"),
        ("{range .spec.containers[*]}{@.name} {end}", "a b "),
        (
            "{range .spec.containers[*]}{.name}:{range .ports[*]}{.port},{end};{end}",
            "a:1,2,;b:;",
        ),
        ("{range .nope[*]}x{end}y", "y"),
    ],
)
def test_templates_print_what_kubectl_prints(template: str, printed: str) -> None:
    assert compiled(template)(POD, str) == printed


@pytest.mark.parametrize(
    "template",
    [
        "{metadata.name}",
        "a{.metadata.name",
        "{end}",
        "{range .spec.containers[*]}{.name}",
        "{len .spec}",
        "{.a .b}",
        "{.a.}",
        '{.spec.containers[*]["name"]}',
        '{.spec.containers[?(@.name=="b" && @.image)].image}',
        '{.spec.containers[?(@.name=~"b")].name}',
        "{.spec.containers[?(name)]}",
        "{.spec.containers[::0]}",
        "{.spec.containers[]}",
    ],
)
def test_what_kubectl_does_not_know_is_refused_before_anything_is_asked(template: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        compiled(template)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{.spec.containers[5].name}", "index 5 of a list of 2"),
        ("{[0]}", "brackets after something that is not a list"),
        ('{.spec.containers[?(@.ports<"x")].name}', "<"),
    ],
)
def test_what_does_not_fit_the_object_is_an_error(template: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        compiled(template)(POD, str)


def test_a_path_may_stand_without_braces() -> None:
    for path in (".metadata.name", "metadata.name", "{.metadata.name}"):
        assert values(path)(POD) == ["p"]


@given(st.text(st.sampled_from("{}[].*?()@$'\"\\:,=<>&|~ ab01-\n"), max_size=40))
def test_any_text_is_a_template_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert isinstance(compiled(text)(POD, str), str)


KEYS = st.text(min_size=1, max_size=8).filter(lambda key: key != "*")


@given(KEYS, st.text(max_size=20))
def test_every_key_can_be_named(key: str, value: str) -> None:
    escaped = "".join(f"\\{letter}" if not letter.isalnum() else letter for letter in key)
    assert values(f".{escaped}")({key: value}) == [value]
    assert json.loads(compiled("{.}")({key: value}, str)) == {key: value}
