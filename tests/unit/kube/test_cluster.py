from __future__ import annotations

import doctest
import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.api import kinds
from devctl.errors import AlreadyExistsError, DeniedError, DevctlError, NotFoundError
from devctl.kube import cluster, patience, proxies, resources, rights
from devctl.kube.cluster import EVERYWHERE, Change, Cluster
from devctl.kube.kubeconfig import Access
from devctl.kube.rights import Right

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BASE = "https://cluster.test/k8s"


class Recorded:
    """An API server that gives recorded answers, and notes what it is asked."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []
        access = Access(BASE, "team", user_name="alice")
        self.cluster = Cluster(access, httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def asked(self) -> list[str]:
        return [
            f"{request.method} {str(request.url).removeprefix(BASE)}" for request in self.requests
        ]

    def body(self) -> Any:
        return json.loads(self.requests[-1].content)


def good(body: Any, code: int = 200) -> httpx2.Response:
    return httpx2.Response(code, json=body)


def status(code: int, message: str, reason: str = "", **details: Any) -> httpx2.Response:
    body = {"kind": "Status", "code": code, "message": message, "reason": reason}
    return good(body | ({"details": details} if details else {}), code)


def server(name: str = "my-server", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "team", "uid": "u1", **meta}}


@pytest.mark.parametrize("module", [cluster, kinds, patience, proxies, rights])
def test_examples(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def test_what_a_cluster_says_of_itself() -> None:
    cluster = Recorded().cluster
    assert (cluster.namespace, cluster.server, cluster.user) == ("team", BASE, "alice")


def test_get_is_of_the_users_namespace_or_another_or_none() -> None:
    api = Recorded(good(server()), good(server()), good({"metadata": {"name": "small"}}))
    found = api.cluster.get(resources.DevServer, "my-server")
    assert type(found) is dict
    assert found == server()
    api.cluster.get(resources.Pod, "p", "other")
    api.cluster.get(resources.DevServerFlavor, "small", "ignored")
    assert api.asked == [
        "GET /apis/devops.yourcompany.com/v1/namespaces/team/devservers/my-server",
        "GET /api/v1/namespaces/other/pods/p",
        "GET /apis/devops.yourcompany.com/v1/devserverflavors/small",
    ]


def test_lists_come_by_pages_and_say_what_they_hold() -> None:
    api = Recorded(
        good({"metadata": {"continue": "more"}, "items": [server("a")]}),
        good({"metadata": {}, "items": [server("b")]}),
        good({"metadata": {}, "items": []}),
    )
    found = api.cluster.list(resources.Pod, None, {"app": "x"}, fields={"spec.nodeName": "n"})
    first = next(found)
    assert len(api.requests) == 1
    assert first == {"apiVersion": "v1", "kind": "Pod", **server("a")}
    assert [item["metadata"]["name"] for item in found] == ["b"]
    query = dict(api.requests[1].url.params)
    assert query == {
        "limit": "500",
        "labelSelector": "app=x",
        "fieldSelector": "spec.nodeName=n",
        "continue": "more",
    }
    list(api.cluster.list(resources.DevServer, EVERYWHERE))
    assert api.requests[2].url.path == "/k8s/apis/devops.yourcompany.com/v1/devservers"


def lines(*changes: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(
        json.dumps({"type": kind, "object": thing}, ensure_ascii=False).encode() + b"\n"
        for kind, thing in changes
    )


class Pieces(httpx2.SyncByteStream):
    """An answer that comes in pieces, and may break off."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = pieces
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True


def test_a_watch_tells_changes_however_their_bytes_come() -> None:
    odd = server(annotations={"note": "a\u0085b\u2028c"})
    data = lines(("ADDED", odd), ("BOOKMARK", {}), ("DELETED", server()))
    stream = Pieces(*(data[at : at + 7] for at in range(0, len(data), 7)))
    api = Recorded(httpx2.Response(200, stream=stream))
    found = api.cluster.watch(resources.DevServer, name="my-server", labels={"a": "b"}, seconds=7)
    assert list(found) == [Change("ADDED", odd), Change("DELETED", server())]
    assert stream.closed
    assert dict(api.requests[0].url.params) == {
        "watch": "true",
        "timeoutSeconds": "7",
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=my-server",
    }
    assert api.requests[0].extensions["timeout"]["read"] > 7


def test_a_watch_that_is_given_up_hangs_up() -> None:
    stream = Pieces(lines(("ADDED", server())), lines(("ADDED", server())))
    api = Recorded(httpx2.Response(200, stream=stream))
    found = api.cluster.watch(resources.Pod, EVERYWHERE)
    next(found)
    found.close()
    assert stream.closed


@pytest.mark.parametrize(
    "end",
    [
        lines(("ERROR", {"code": 410, "message": "too old resource version"})),
        httpx2.ReadTimeout("silence"),
    ],
)
def test_a_watch_ends_where_another_is_to_begin(end: bytes | Exception) -> None:
    stream = Pieces(lines(("ADDED", server())), end)
    api = Recorded(httpx2.Response(200, stream=stream))
    assert len(list(api.cluster.watch(resources.Pod))) == 1


@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (lines(("ERROR", {"code": 403, "message": "no more"})), DeniedError, "no more"),
        (httpx2.RemoteProtocolError("incomplete"), DevctlError, "was lost: incomplete"),
        (b"<html>\n", DevctlError, "no Kubernetes API server"),
    ],
)
def test_a_watch_that_fails_says_why(
    end: bytes | Exception, kind: type[Exception], words: str
) -> None:
    api = Recorded(httpx2.Response(200, stream=Pieces(end)))
    with pytest.raises(kind, match=words):
        list(api.cluster.watch(resources.Pod))


def test_create_and_apply_say_who_writes() -> None:
    api = Recorded(good(server(), 201), good(server()), good(server()))
    api.cluster.create(resources.DevServer, {"metadata": {"name": "my-server"}, "spec": {}})
    assert api.body() == {
        "apiVersion": "devops.yourcompany.com/v1",
        "kind": "DevServer",
        "metadata": {"name": "my-server"},
        "spec": {},
    }
    api.cluster.apply(resources.DevServer, server(namespace="other"), dry_run=True)
    api.cluster.patch(resources.DevServer, "my-server", {"spec": None}, dry_run=True)
    path = "/apis/devops.yourcompany.com/v1/namespaces"
    assert api.asked == [
        f"POST {path}/team/devservers?fieldManager=devctl",
        f"PATCH {path}/other/devservers/my-server?force=true&dryRun=All&fieldManager=devctl",
        f"PATCH {path}/team/devservers/my-server?dryRun=All&fieldManager=devctl",
    ]
    kinds = [request.headers["content-type"] for request in api.requests]
    assert kinds[1:] == ["application/apply-patch+yaml", "application/merge-patch+json"]


def test_a_name_that_is_taken() -> None:
    api = Recorded(status(409, 'devservers "my-server" already exists', "AlreadyExists"))
    with pytest.raises(AlreadyExistsError, match="already exists"):
        api.cluster.create(resources.DevServer, server(), dry_run=True)


@pytest.mark.parametrize(
    ("unchanged", "conditions", "words"),
    [
        (False, {"uid": "u1"}, "recreated meanwhile and is left alone"),
        (True, {"uid": "u1", "resourceVersion": "5"}, "changed meanwhile"),
    ],
)
def test_only_the_object_that_was_read_is_deleted(
    *, unchanged: bool, conditions: dict[str, str], words: str
) -> None:
    api = Recorded(good({}), status(409, "the UID in the precondition does not match", "Conflict"))
    found = server(resourceVersion="5", namespace="other")
    api.cluster.delete(resources.DevServer, found, unchanged=unchanged)
    assert api.asked[0].endswith("/namespaces/other/devservers/my-server")
    assert api.body() == {"preconditions": conditions, "propagationPolicy": "Background"}
    with pytest.raises(DevctlError, match=words):
        api.cluster.delete(resources.DevServer, found, unchanged=unchanged)


def test_deleting_what_is_gone() -> None:
    api = Recorded(status(404, 'devservers "my-server" not found', "NotFound"))
    with pytest.raises(NotFoundError, match="not found"):
        api.cluster.delete(resources.DevServer, server())


def test_logs_come_as_bytes() -> None:
    stream = Pieces(b"\xff one\n", b"two")
    api = Recorded(
        httpx2.Response(200, stream=stream),
        httpx2.Response(200, content=b""),
        status(400, "container is waiting to start"),
    )
    assert b"".join(api.cluster.log("p", follow=True, tail=3)) == b"\xff one\ntwo"
    assert api.asked == ["GET /api/v1/namespaces/team/pods/p/log?follow=true&tailLines=3"]
    assert api.requests[0].extensions["timeout"]["read"] is None
    assert list(api.cluster.log("p", "other")) == []
    with pytest.raises(DevctlError, match="waiting to start"):
        list(api.cluster.log("p"))


def test_reading_what_has_no_kind() -> None:
    api = Recorded(good({"gitVersion": "v1"}), status(404, "page not found"))
    assert api.cluster.read("/version").json() == {"gitVersion": "v1"}
    assert api.asked == ["GET /version"]
    with pytest.raises(NotFoundError, match="does not know what was asked for"):
        api.cluster.read("nope")


def test_a_watch_that_ends_at_once_is_not_begun_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    passing = SimpleNamespace(sleep=slept.append, monotonic=time.monotonic)
    monkeypatch.setattr("devctl.kube.patience.time", passing)
    gone = lines(("ERROR", {"code": 410, "message": "too old resource version"}))
    api = Recorded(*(httpx2.Response(200, stream=Pieces(gone)) for _ in range(7)))
    for _ in range(6):
        list(api.cluster.watch(resources.Pod))
    # Another one has nothing to do with it.
    list(api.cluster.watch(resources.DevServer))
    assert slept[0] == slept[-1] == 0
    assert slept[5] > slept[1] > 0


def test_who_one_is() -> None:
    api = Recorded(good({"status": {"userInfo": {"username": "alice@company.com"}}}, 201))
    assert api.cluster.whoami() == "alice@company.com"


PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
EXEC = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*/exec"]}
ONE_POD = {"verbs": ["delete"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}
RIGHTS = [
    Right("get", "", "pods"),
    Right("create", "", "pods", "exec"),
    Right("get", "", "pods", "log"),
    Right("delete", "", "pods"),
    Right("get", "apps", "pods"),
]


def rules(*, incomplete: bool) -> httpx2.Response:
    known = [PODS, EXEC, ONE_POD]
    return good({"status": {"resourceRules": known, "incomplete": incomplete}}, 201)


def test_one_request_tells_what_one_may() -> None:
    api = Recorded(rules(incomplete=False))
    assert api.cluster.allowed(RIGHTS) == [True, True, False, False, False]
    assert api.asked == [
        "POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews?fieldManager=devctl"
    ]
    assert api.body()["spec"] == {"namespace": "team"}


def test_rules_that_are_not_all_known_are_asked_for_one_by_one() -> None:
    answers = (good({"status": {"allowed": found}}, 201) for found in (True, False, True))
    api = Recorded(rules(incomplete=True), *answers)
    assert api.cluster.allowed(RIGHTS) == [True, True, True, False, True]
    asked = api.body()["spec"]["resourceAttributes"]
    assert (asked["namespace"], asked["verb"], asked["group"]) == ("team", "get", "apps")


@pytest.mark.parametrize(
    "act",
    [
        lambda cluster: cluster.get(resources.Pod, "p"),
        lambda cluster: list(cluster.list(resources.Pod)),
        lambda cluster: list(cluster.watch(resources.Pod)),
        lambda cluster: cluster.create(resources.Pod, server()),
        lambda cluster: cluster.apply(resources.Pod, server()),
        lambda cluster: cluster.patch(resources.Pod, "p", {}),
        lambda cluster: cluster.delete(resources.Pod, server()),
        lambda cluster: list(cluster.log("p")),
        lambda cluster: cluster.read("version"),
        lambda cluster: cluster.whoami(),
        lambda cluster: cluster.allowed([Right("get", "", "pods")]),
    ],
)
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(403, "pods is forbidden", "Forbidden"), "pods is forbidden"),
        (httpx2.Response(502, html="<b>Bad\nGateway</b>"), "<b>Bad Gateway</b>"),
        (httpx2.ConnectError("[Errno 111] Connection refused"), "reached: Connection refused"),
        (httpx2.ConnectTimeout("slow"), "does not answer in time"),
    ],
)
def test_every_request_explains_what_goes_wrong(
    act: Callable[[Cluster], object], answer: httpx2.Response | Exception, words: str
) -> None:
    with pytest.raises(DevctlError, match=words) as caught:
        act(Recorded(*[answer] * 3).cluster)
    assert caught.value.fix
