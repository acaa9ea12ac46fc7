"""What tests send to an API server in the name of others, and what they see of its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support import api as module
from support.api import Api, checked, objection
from support.asked import Request, annotate, create, delete, label, patch, replace
from support.tenants import role

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
SERVED = [
    ("", "v1", "pods", "Pod", "Namespaced", ["po"]),
    ("", "v1", "nodes", "Node", "Cluster", ["no"]),
    ("apps", "v1", "deployments", "Deployment", "Namespaced", []),
]
FORBIDDEN = {"reason": "Forbidden", "message": 'pods "a" is forbidden: no'}


def discovered(path: str) -> dict[str, Any]:
    """What an API server says that it serves, below a path."""
    groups: dict[str, Any] = {}
    for group, version, plural, kind, scope, short in SERVED:
        if (path == "/api") == (not group):
            found: dict[str, Any] = {
                "resource": plural,
                "singularResource": kind.lower(),
                "shortNames": short,
            }
            found |= {"responseKind": {"kind": kind}, "scope": scope}
            made = {"metadata": {"name": group}, "versions": [{"version": version}]}
            groups.setdefault(group, made)["versions"][0].setdefault("resources", []).append(found)
    return {"items": [*groups.values()]}


@pytest.fixture
def seen() -> list[httpx2.Request]:
    """All requests but those of discovery."""
    return []


@pytest.fixture
def server(seen: list[httpx2.Request], monkeypatch: pytest.MonkeyPatch) -> Api:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path in {"/api", "/apis"}:
            return httpx2.Response(200, json=discovered(request.url.path))
        seen.append(request)
        if request.url.path.endswith("/selfsubjectaccessreviews"):
            return httpx2.Response(201, json={"status": {"allowed": True}})
        if "Impersonate-User" in request.headers:
            return httpx2.Response(403, json=FORBIDDEN)
        return httpx2.Response(200, json=POD)

    def connect(_: Path) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(answer), base_url="https://server")

    monkeypatch.setattr(module, "connect", connect)
    return Api(Path("unread"))


def test_a_user_is_impersonated_by_the_same_connections(
    server: Api, seen: list[httpx2.Request]
) -> None:
    alice = server.acting("alice", "team", "others")
    assert objection(alice.send(create(POD), "dev")) == (
        'Error from server (Forbidden): pods "a" is forbidden: no'
    )
    assert objection(server.send(create(POD), "dev")) == ""
    assert server.acting("") is server
    first, second = seen
    assert first.headers["Impersonate-User"] == "alice"
    assert first.headers.get_list("Impersonate-Group") == ["team", "others"]
    assert not [name for name in second.headers if name.startswith("impersonate")]


@pytest.mark.parametrize(
    ("request_", "line", "body"),
    [
        (create(POD), "POST /api/v1/namespaces/dev/pods?fieldValidation=Strict", POD),
        (
            create(POD, dry=True, strict=False),
            "POST /api/v1/namespaces/dev/pods?fieldValidation=Ignore&dryRun=All",
            POD,
        ),
        (
            replace(POD, "7", dry=True),
            "PUT /api/v1/namespaces/dev/pods/a?fieldValidation=Strict&dryRun=All",
            POD | {"metadata": {"name": "a", "resourceVersion": "7"}},
        ),
        (
            patch("po/a", {"status": {}}, sub="status", dry=True),
            "PATCH /api/v1/namespaces/dev/pods/a/status?dryRun=All",
            {"status": {}},
        ),
        (
            label("node/a", "b=c=d", "e-"),
            "PATCH /api/v1/nodes/a",
            {"metadata": {"labels": {"b": "c=d", "e": None}}},
        ),
        (
            annotate("pod/a", "b="),
            "PATCH /api/v1/namespaces/dev/pods/a",
            {"metadata": {"annotations": {"b": ""}}},
        ),
        # Options of a deletion that has a body are read from there alone.
        (
            delete("pod/a", dry=True),
            "DELETE /api/v1/namespaces/dev/pods/a",
            {"propagationPolicy": "Background", "dryRun": ["All"]},
        ),
        (
            delete("deployments", policy="Orphan"),
            "DELETE /apis/apps/v1/namespaces/dev/deployments",
            {"propagationPolicy": "Orphan"},
        ),
    ],
)
def test_a_request_is_sent_where_its_object_is(
    server: Api, seen: list[httpx2.Request], request_: Request, line: str, body: Any
) -> None:
    assert checked(server.send(request_, "dev")) == POD
    (sent,) = seen
    assert f"{sent.method} {sent.url.raw_path.decode()}" == line
    assert json.loads(sent.content) == body


@pytest.mark.parametrize(
    ("what", "options", "asked"),
    [
        ("pods", {}, {"group": "", "resource": "pods", "namespace": "default"}),
        ("pods", {"namespace": ""}, {"group": "", "resource": "pods"}),
        ("nodes/one", {}, {"group": "", "resource": "nodes", "name": "one"}),
        (
            "deployments.apps",
            {"namespace": "dev", "sub": "scale"},
            {
                "group": "apps",
                "resource": "deployments",
                "namespace": "dev",
                "subresource": "scale",
            },
        ),
    ],
)
def test_who_may_do_something_is_asked_as_they(
    server: Api,
    seen: list[httpx2.Request],
    what: str,
    options: dict[str, str],
    asked: dict[str, str],
) -> None:
    assert server.acting("alice").may("get", what, **options)
    (sent,) = seen
    assert sent.headers["Impersonate-User"] == "alice"
    found = json.loads(sent.content)["spec"]["resourceAttributes"]
    assert {name: value for name, value in found.items() if value or name == "group"} == {
        "verb": "get",
        **asked,
    }


def test_a_right_to_what_there_is_not_is_no_answer(server: Api) -> None:
    with pytest.raises(pytest.fail.Exception, match="has no kind `gadgets`"):
        server.may("get", "gadgets")


def test_an_answer_that_is_no_status_is_shown_as_it_is() -> None:
    assert objection(httpx2.Response(502, text="gone")) == "Error from server (502): gone"


def test_a_role_has_a_rule_for_each_group() -> None:
    rules = role("a", "get list", {"": "pods pods/log", "apps": "deployments"}, "one")["rules"]
    verbs = {"verbs": ["get", "list"], "resourceNames": ["one"]}
    assert rules == [
        {"apiGroups": [""], "resources": ["pods", "pods/log"], **verbs},
        {"apiGroups": ["apps"], "resources": ["deployments"], **verbs},
    ]
