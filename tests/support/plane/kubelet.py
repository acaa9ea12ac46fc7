"""A kubelet without containers: it has a DRA plugin prepare claims, and pods run for a moment.

It runs the pods of a plane's node that say so; kwok does the rest. As the kubelet does, it keeps
which claims a pod has before it prepares them, prepares those of all its pods again when it starts,
and tells of a pod's end only when its claims are unprepared. What a container runtime would keep is
kept in files, so that containers outlive it.

usage: kubelet.py NODE FOLDER; the environment is that of support.plane.mortal_plugin
"""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from devctl_dra_plugin.api import ApiError
from devctl_dra_plugin.messages import ClaimRef
from support.plane.containers import Containers
from support.plane.deaths import Deaths
from support.plane.kubelet_calls import CLAIMS, Plugin, PluginError, Server
from support.plane.kubelet_record import KUBELET, SECONDS, Record, claim_names
from support.plane.scenarios import END

Thing = dict[str, Any]

_LOOK = 0.2
_GRACE = 3.0
"""Seconds for which containers go on when their pod was deleted by force: others have its GPUs in
the scheduler's eyes by then."""
_AT_ONCE = 8
_ENDED = {"Succeeded", "Failed"}


class Kubelet:
    """One node's.

    Args:
        node: The node's name.
        root: The folder of it and of its containers.
        server: The API server.
        deaths: When it dies.
    """

    def __init__(self, node: str, root: Path, server: Server, deaths: Deaths) -> None:
        """Know what its predecessor knew."""
        self._node, self._server, self._deaths = node, server, deaths
        self._plugin, self._record = Plugin(root), Record(root / "pods.json")
        self._containers = Containers(root)
        self._ready: set[str] = set()
        self._missed: dict[str, float] = {}
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def run(self) -> None:
        """Until it is killed."""
        self._try(lambda: self._server.remove_slices(self._node))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while True:
                self._try(self._plugin.find)
                self._try(lambda: self._look(pool))
                time.sleep(_LOOK)

    def _look(self, pool: ThreadPoolExecutor) -> None:
        known = self._record.pods()  # first: whoever is there, and not in the list, is gone
        listed = {
            pod["metadata"]["uid"]: pod
            for pod in self._server.pods(self._node)
            if pod["metadata"].get("annotations", {}).get(END) == KUBELET
        }
        for uid in known | listed.keys():
            with self._lock:
                if uid in self._busy:
                    continue
                self._busy.add(uid)
            pool.submit(self._work, uid, listed.get(uid))

    def _work(self, uid: str, pod: Thing | None) -> None:
        try:
            self._try(lambda: self._sync(uid, pod))
        finally:
            with self._lock:
                self._busy.discard(uid)

    def _sync(self, uid: str, pod: Thing | None) -> None:
        if pod is None:
            # Deleted by force: its containers take a while to end.
            since = self._missed.setdefault(uid, time.monotonic())
            if time.monotonic() - since > _GRACE:
                self._end(uid, None)
        elif pod["status"].get("phase") in _ENDED:
            self._forget(uid)
        elif "deletionTimestamp" in pod["metadata"] or self._containers.has_ended(uid):
            self._end(uid, pod)
        elif uid not in self._ready:
            self._start(uid, pod)

    def _start(self, uid: str, pod: Thing) -> None:
        refs = [self._claim(pod, name) for name in claim_names(pod)]
        self._record.add(uid, refs)
        self._deaths.reach("to-prepare")
        answers = self._plugin.prepare(refs)
        self._deaths.reach("prepared")
        self._containers.start(
            uid,
            [device for each in answers.values() for device in each.devices],
            [name for each in answers.values() for name in each.cdi],
            float(pod["metadata"]["annotations"][SECONDS]),
        )
        self._deaths.reach("started")
        state = {"running": {"startedAt": _now()}}
        self._server.tell(pod, {"phase": "Running", **_statuses(state, ready=True)})
        self._ready.add(uid)

    def _claim(self, pod: Thing, name: str) -> ClaimRef:
        namespace = pod["metadata"]["namespace"]
        claim = self._server.get(CLAIMS.format(namespace, name))
        reserved = (claim or {}).get("status", {}).get("reservedFor", [])
        if claim is None or pod["metadata"]["uid"] not in {each["uid"] for each in reserved}:
            raise PluginError(f"claim {name} is not reserved for {pod['metadata']['name']}")
        return ClaimRef(namespace, claim["metadata"]["uid"], name)

    def _end(self, uid: str, pod: Thing | None) -> None:
        self._containers.stop(uid)
        self._plugin.unprepare(self._record.claims(uid))
        self._deaths.reach("unprepared")
        if pod is None:
            self._forget(uid)
            return
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": _now(), "finishedAt": _now()}
        told = _statuses({"terminated": ended}, ready=False)
        self._server.tell(pod, {"phase": "Succeeded", **told})

    def _forget(self, uid: str) -> None:
        self._containers.remove(uid)
        self._record.remove(uid)

    def _try(self, action: Any) -> None:
        try:
            action()
        except (ApiError, PluginError, OSError) as error:
            print(_now(), error, flush=True)  # noqa: T201 - its log


def _statuses(state: Thing, *, ready: bool) -> Thing:
    one = {"name": "main", "image": "made:1", "imageID": "", "restartCount": 0}
    return {"containerStatuses": [{**one, "ready": ready, "state": state}]}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _main() -> None:
    node, root = sys.argv[1], Path(sys.argv[2])
    host, port, account, deaths = (
        os.environ[name]
        for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "ACCOUNT", "DEATHS")
    )
    server = Server(host, int(port), Path(account))
    Kubelet(node, root, server, Deaths(Path(deaths))).run()


if __name__ == "__main__":
    _main()
