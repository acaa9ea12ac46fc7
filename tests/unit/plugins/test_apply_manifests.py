"""Rendered text to manifests: structure, marks, and values that cannot change either."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from apply.errors import ApplyError
from apply.manifests import Key, Kind, Manifest, key_of, to_yaml, unique
from apply.ownership import Owner, stamp
from apply.templates import parse
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.applied import Reason

OWNER = Owner(Key(Kind("devops.yourcompany.com/v1", "DevServer"), "ada", "team"), "u1")
IDENTITY = {"app.kubernetes.io/managed-by": "devctl", "devops.yourcompany.com/devserver": "ada"}


def manifest(kind: str = "ConfigMap", **metadata: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "ada", **metadata}}


def test_a_template_holds_any_number_of_documents() -> None:
    two = f"---\n{json.dumps(manifest())}\n---\n{json.dumps(manifest('Secret'))}\n---\n"

    assert [m["kind"] for m in parse("t", two)] == ["ConfigMap", "Secret"]
    assert parse("t", "") == parse("t", "---\n# nothing\n") == []


# The Kubernetes API can store any text except lone surrogates.
@given(value=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_written_as_json_is_read_as_it_was(value: str) -> None:
    text = f"apiVersion: v1\nkind: K\nmetadata: {{name: n}}\ndata:\n  v: {to_yaml(value)}\n"

    assert parse("t", text)[0]["data"] == {"v": value}


@given(value=st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_sent_reads_the_same_as_yaml(value: str) -> None:
    assert yaml.load(to_yaml({"v": value}), yaml.CSafeLoader) == {"v": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c", "t.j2: mapping values are not allowed in this context on line 1"),
        ("- a", "t.j2: a document lacks apiVersion, kind or metadata.name"),
        ("{apiVersion: v1, kind: K, metadata: {}}", "t.j2: a document lacks"),
        ("{apiVersion: v1, kind: K, metadata: {name: 5}}", "t.j2: a document lacks"),
        (
            "{apiVersion: v1, kind: K, metadata: {name: n, ownerReferences: []}}",
            "a template must not set metadata.ownerReferences",
        ),
    ],
)
def test_what_is_no_manifest_is_named(text: str, message: str) -> None:
    with pytest.raises(ApplyError, match=message) as caught:
        parse("t.j2", text)
    assert caught.value.reason is Reason.TEMPLATE_ERROR


def test_a_parse_error_quotes_no_value() -> None:
    with pytest.raises(ApplyError) as caught:
        parse("t.j2", "password: hunter2: oops")
    assert "hunter2" not in str(caught.value)


def test_everything_gets_namespace_labels_and_owner() -> None:
    stamped = stamp(manifest(labels={"a": "b"}), OWNER, IDENTITY)["metadata"]

    assert stamped["namespace"] == "team"
    assert stamped["labels"] == {"a": "b", **IDENTITY}
    assert stamped["ownerReferences"] == [
        {
            "apiVersion": "devops.yourcompany.com/v1",
            "kind": "DevServer",
            "name": "ada",
            "uid": "u1",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_data_gets_labels_but_no_owner() -> None:
    stamped = stamp(manifest("PersistentVolumeClaim"), OWNER, IDENTITY)["metadata"]

    assert stamped["labels"] == IDENTITY
    assert "ownerReferences" not in stamped


def test_another_namespace_is_refused() -> None:
    with pytest.raises(ApplyError, match="other/ada is outside the owner's namespace, team"):
        stamp(manifest(namespace="other"), OWNER, IDENTITY)
    assert stamp(manifest(namespace="team"), OWNER, IDENTITY)


def test_an_identity_label_of_another_is_refused() -> None:
    with pytest.raises(ApplyError, match="to a different value"):
        stamp(manifest(labels={"devops.yourcompany.com/devserver": "eve"}), OWNER, IDENTITY)


def test_an_object_is_rendered_once() -> None:
    with pytest.raises(ApplyError, match="ConfigMap ada is rendered twice"):
        unique([manifest(), manifest()])
    assert [key_of(m).kind.kind for m in unique([manifest(), manifest("Secret")]).values()] == [
        "ConfigMap",
        "Secret",
    ]
