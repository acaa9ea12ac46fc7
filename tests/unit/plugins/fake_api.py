"""An in-memory API server with all that `apply` uses: preconditions, field managers, dry runs."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml
from kubernetes.client.exceptions import ApiException

if TYPE_CHECKING:
    from collections.abc import Callable

Thing = dict[str, Any]


def failure(
    status: int, message: str = "", *causes: dict[str, str], **headers: str
) -> ApiException:
    """The exception that the client raises for a server's error."""
    error = ApiException(status=status, reason="Reason")
    error.body = json.dumps({"kind": "Status", "message": message, "details": {"causes": causes}})
    error.headers = headers
    return error


def _anywhere(path: str) -> str:
    """The path of an object in a list of all namespaces."""
    return re.sub("/namespaces/[^/]+", "", path)


@dataclass
class FakeApi:
    """Objects by path; every request is recorded, and may meet a fault first."""

    host: str = "https://cluster"
    objects: dict[str, Thing] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    faults: list[Exception | Callable[[FakeApi], None] | None] = field(default_factory=list)
    served: dict[str, Any] = field(default_factory=dict)
    version: int = 100
    managers: dict[str, dict[str, str]] = field(default_factory=dict)
    uncached: int = 0
    """How many responses of the operator's proxy do not come from its cache yet."""
    late: set[str] = field(default_factory=set)
    """Paths of objects that its cache lacks, from which it answers equality selectors."""

    def client(self) -> Any:
        """The replacement for the official client."""
        return self

    @property
    def configuration(self) -> SimpleNamespace:
        return SimpleNamespace(host=self.host)

    def put(self, path: str, thing: Thing, manager: str = "other") -> Thing:
        """Store an object, as someone else would."""
        self.version += 1
        name = path.rpartition("/")[2]
        metadata = {"namespace": "team", "name": name, "uid": f"uid-{self.version}"}
        metadata |= thing.get("metadata", {}) | {"resourceVersion": str(self.version)}
        self.objects[path] = thing | {"metadata": metadata}
        self.managers[path] = dict.fromkeys(thing.get("data", {}), manager)
        return self.objects[path]

    def call_api(
        self,
        path: str,
        method: str,
        _path_params: Any,
        query: list[tuple[str, str]],
        _headers: Any,
        body: Any = None,
        **_options: Any,
    ) -> SimpleNamespace:
        self.requests.append(f"{method} {path}")
        if self.faults and (fault := self.faults.pop(0)):
            if isinstance(fault, Exception):
                raise fault
            fault(self)
        # As YAML, because the server reads every apply as YAML.
        sent = yaml.load(body, yaml.CSafeLoader) if isinstance(body, bytes) else copy.deepcopy(body)
        answer = getattr(self, method.lower())(path, dict(query), sent)
        headers = {} if self.uncached else {"X-Cache": "HIT"}
        if method == "GET" and path in self.objects:
            self.uncached = max(0, self.uncached - 1)
        return SimpleNamespace(data=json.dumps(answer).encode(), headers=headers)

    def get(self, path: str, query: dict[str, str], _body: Any) -> Any:
        if path in self.served:
            return {"resources": self.served[path]}
        if "labelSelector" in query:
            # `a=b`, or `a in (b)`.
            pairs = re.findall(r"([^,=\s]+)(?:=| in \()([^,)]*)", query["labelSelector"])
            wanted = dict(pairs)
            late = set() if " in " in query["labelSelector"] else self.late
            found = [
                {k: v for k, v in thing.items() if k not in {"apiVersion", "kind"}}
                for at, thing in self.objects.items()
                if at not in late
                and (at.startswith(path + "/") or _anywhere(at).startswith(path + "/"))
                and wanted.items() <= (thing["metadata"].get("labels") or {}).items()
            ]
            return {"kind": "List", "items": found}
        return self._existing(path)

    def patch(self, path: str, query: dict[str, str], body: Thing) -> Thing:
        path = path.removesuffix("/status")
        before = self.objects.get(path)
        uid = body["metadata"].get("uid")
        if uid and uid != (before or {"metadata": {"uid": None}})["metadata"]["uid"]:
            raise failure(409, "Precondition failed: UID in precondition")
        holders = self.managers.get(path, {})
        held = {
            holders[name]
            for name, value in body.get("data", {}).items()
            if before
            and before.get("data", {}).get(name, value) != value
            and holders.get(name, query["fieldManager"]) != query["fieldManager"]
        }
        if held and query.get("force") != "true":
            causes = [
                {"reason": "FieldManagerConflict", "message": f'conflict with "{manager}" using v1'}
                for manager in held
            ]
            raise failure(409, f"Apply failed with conflicts: {sorted(held)}", *causes)
        version = body["metadata"].pop("resourceVersion", None)
        if before and version not in {None, before["metadata"].get("resourceVersion")}:
            raise failure(409, "the object has been modified")
        after = self._merged(path, before, body)
        if "dryRun" not in query:
            self.objects[path] = after
            self.managers[path] = holders | dict.fromkeys(
                body.get("data", {}), query["fieldManager"]
            )
        return after

    def delete(self, path: str, _query: dict[str, str], body: Thing) -> Thing:
        metadata = self._existing(path)["metadata"]
        if any(metadata[name] != wanted for name, wanted in body["preconditions"].items()):
            raise failure(409, "Precondition failed")
        # Like the server: with options in the body, the query is ignored.
        if "dryRun" not in body:
            del self.objects[path]
        return {"kind": "Status", "status": "Success"}

    def _existing(self, path: str) -> Thing:
        if path not in self.objects:
            raise failure(404, f"{path} not found")
        return self.objects[path]

    def _merged(self, path: str, before: Thing | None, body: Thing) -> Thing:
        old = before or {"metadata": {"uid": f"uid-{path}", "resourceVersion": "0"}}
        metadata = old["metadata"] | body["metadata"]
        after = old | body | {"metadata": metadata}
        if after != before:
            self.version += 1
            after["metadata"] = metadata | {"resourceVersion": str(self.version)}
        return after
