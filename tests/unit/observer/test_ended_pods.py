"""What becomes of the hooks of pods that are gone before anybody looks at their server."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from devctl_observer.kinds.servers import ended_pods
from devctl_observer.kinds.servers.ended_pods import EndedPods
from devctl_observer.kinds.servers.hook_outcomes import Ended
from devctl_observer.watching.store import Key

from devctl.api.labels import DEVSERVER, HOOKS
from unit.observer.objects import ago, pod, server
from unit.observer.running import api_error
from unit.observer.test_controllers import KEY, filled
from unit.observer.test_hook_outcomes import ends

YOUNG = {"creationTimestamp": ago(hours=1), "labels": {DEVSERVER: "my-dev"}}
NOTES = {"annotations": {HOOKS: "save,push"}}
GOING = YOUNG | NOTES | {"deletionTimestamp": ago(minutes=0)}


def hooks(status: dict[str, Any]) -> list[tuple[int, str, str, str]]:
    found = status.get("hooks", [])
    return [(e["replica"], e["name"], e["event"], e["result"]) for e in found]


SAID = [(0, "save", "Stopped", "Failed"), (0, "push", "Stopped", "TimedOut")]


def change(caches: Any, version: int, **spec: Any) -> None:
    """The server as its user has changed it."""
    old = caches.servers.get(KEY)
    meta = {"resourceVersion": str(version)}
    caches.servers.put(KEY, version, server(old.status, meta, **spec))


def test_a_pod_that_is_gone_has_told_why_it_ended() -> None:
    caches, cluster, controllers = filled()
    one = controllers.of_servers
    change(caches, 2000, stopped=True)
    one.see_pod(KEY, pod(ready=True, meta=GOING), gone=False)
    # It is started again before the hooks have ended.
    change(caches, 3000)
    last = ends(meta=GOING)
    one.see_pod(KEY, last, gone=False)
    caches.children.pods.drop(Key("dev-alice", "my-dev-0"))
    one.see_pod(KEY, last, gone=True)
    asyncio.run(controllers.server(KEY))
    assert hooks(cluster.written[-1]) == SAID
    assert cluster.told[-2:] == ["HookFailed", "HookTimedOut"]
    told = len(cluster.told)
    for _ in range(2):
        asyncio.run(controllers.server(KEY))
    assert hooks(cluster.written[-1]) == SAID, "they stay"
    assert len(cluster.told) == told


def test_a_write_that_fails_loses_nothing() -> None:
    caches, cluster, controllers = filled()
    change(caches, 2000, stopped=True)
    controllers.of_servers.see_pod(KEY, ends(meta=GOING), gone=True)
    cluster.fails = api_error(HTTPStatus.CONFLICT)
    asyncio.run(controllers.server(KEY))
    assert cluster.written == []
    cluster.fails = None
    asyncio.run(controllers.server(KEY))
    assert hooks(cluster.written[-1]) == SAID


def test_the_hooks_of_a_deleted_server_have_events_alone() -> None:
    caches, cluster, controllers = filled()
    one = controllers.of_servers
    old = caches.servers.drop(KEY)
    assert old
    one.see_deleted(KEY, old)
    one.see_pod(KEY, pod(ready=True, meta=GOING), gone=False)
    one.see_pod(KEY, ends(meta=GOING), gone=True)
    assert asyncio.run(controllers.server(KEY)) is None
    assert cluster.told == ["HookFailed", "HookTimedOut"]
    assert cluster.written == []
    asyncio.run(controllers.server(KEY))
    assert len(cluster.told) == 2


def test_a_new_server_of_the_same_name_has_not_run_the_hooks_of_the_old_one() -> None:
    caches, cluster, controllers = filled()
    one = controllers.of_servers
    old = caches.servers.drop(KEY)
    assert old
    one.see_deleted(KEY, old)
    young = {"uid": "u-2", "creationTimestamp": ago(minutes=1)}
    caches.servers.put(KEY, 200, server(meta=young))
    one.see_pod(KEY, ends(meta=GOING), gone=True)
    asyncio.run(controllers.server(KEY))
    assert hooks(cluster.written[-1]) == []
    assert cluster.told[:2] == ["HookFailed", "HookTimedOut"]


def test_what_is_told_of_an_old_server_meanwhile_is_not_the_new_ones() -> None:
    caches, cluster, controllers = filled()
    one = controllers.of_servers
    old = caches.servers.drop(KEY)
    assert old
    one.see_deleted(KEY, old)
    young = {"uid": "u-2", "creationTimestamp": ago(minutes=1)}
    caches.servers.put(KEY, 200, server(meta=young))
    one.see_pod(KEY, ends(meta=GOING), gone=True)
    write = cluster.tell

    async def tell(*event: Any) -> None:
        cluster.tell = write  # type: ignore[method-assign]
        await write(*event)
        other = GOING | {"uid": "p-1", "name": "my-dev-1"}
        one.see_pod(KEY, ends(ordinal=1, meta=other), gone=True)

    cluster.tell = tell  # type: ignore[method-assign,assignment]
    asyncio.run(controllers.server(KEY))
    assert hooks(cluster.written[-1]) == []
    assert told(one) == ["Deleted"], "the next look tells it"


def test_an_expired_server_says_so() -> None:
    caches, _, controllers = filled()
    one = controllers.of_servers
    expiring = {"lifecycle": {"timeToLive": "1h"}}
    status = {
        "conditions": [
            {"type": "Expiring", "status": "True", "lastTransitionTime": ago(hours=30)},
        ]
    }
    one.see_deleted(KEY, server(status, {"creationTimestamp": ago(hours=40)}, **expiring))
    caches.servers.drop(KEY)
    one.see_pod(KEY, ends(meta=GOING), gone=False)
    assert told(one) == ["Expired"]


def told(one: Any) -> list[str]:
    return [each.ended.event for each in one._ended.of(KEY)]  # noqa: SLF001


def test_nobody_is_asked_about_a_pod_without_hooks() -> None:
    seen = EndedPods()

    def cause() -> None:
        raise AssertionError

    seen.see(KEY, ends(meta=YOUNG | {"deletionTimestamp": ago()}), cause)
    seen.see(KEY, pod(ready=True, meta=YOUNG | NOTES), cause)
    assert seen.of(KEY) == []


def test_what_nobody_knows_whose_it_is_is_left_out() -> None:
    seen = EndedPods()
    seen.see(KEY, ends(meta=GOING), lambda: None)
    assert seen.of(KEY) == []


def test_deleted_servers_are_remembered_up_to_a_number() -> None:
    seen = EndedPods()
    cause = ended_pods.Cause(server().metadata, "Deleted")
    for number in range(600):
        seen.delete(Key("n", str(number)), cause)
    assert seen.deleted(Key("n", "0")) is None
    assert seen.deleted(Key("n", "599")) == cause


def test_what_came_while_the_status_was_written_is_kept() -> None:
    seen = EndedPods()
    cause = ended_pods.Cause(server().metadata, "Stopped")
    seen.see(KEY, ends(meta=GOING | {"uid": "a"}), lambda: cause)
    first = seen.of(KEY)
    seen.see(KEY, ends(meta=GOING | {"uid": "b", "name": "my-dev-1"}), lambda: cause)
    seen.drop(KEY, first)
    assert [one.ended.replica for one in seen.of(KEY)] == [1]
    assert isinstance(seen.of(KEY)[0].ended, Ended)
