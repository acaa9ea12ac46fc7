"""What the plugin asks: an API server in memory, and what it says about claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.api import ApiError
from devctl_dra_plugin.lookup import GROUP
from devctl_dra_plugin.messages import ClaimRef
from devctl_dra_plugin.names import DRIVER

if TYPE_CHECKING:
    from collections.abc import Mapping

NODE = "node-1"
Object = dict[str, Any]


class Memory:
    """An API server, with every write that it took."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.written: list[tuple[str, Object]] = []
        self.is_away = False

    def get(self, path: str) -> Object | None:
        self._check()
        where, _, query = path.partition("?")
        if "continue" in query:
            found = [o for p, o in self.objects.items() if "/resourceclaims/" in p]
            # One a page.
            start = int(query.rpartition("=")[2] or "0")
            after = str(start + 1) if start + 1 < len(found) else ""
            return {"items": found[start : start + 1], "metadata": {"continue": after}}
        return self.objects.get(where)

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        self._check()
        self._write(f"{path}/{body['metadata']['name']}", body)

    def replace(self, path: str, body: Mapping[str, Any]) -> None:
        self._check()
        assert path in self.objects
        self._write(path, body)

    def allocate(self, ref: ClaimRef, *indexes: int, node: str = NODE, **more: Any) -> None:
        """A claim that has been allocated these GPUs."""
        path = f"{GROUP}/namespaces/{ref.namespace}/resourceclaims/{ref.name}"
        self.objects[path] = claim(ref, *indexes, node=node) | more

    def _check(self) -> None:
        if self.is_away:
            raise ApiError("the API server: away")

    def _write(self, path: str, body: Mapping[str, Any]) -> None:
        self.objects[path] = dict(body)
        self.written.append((path, dict(body)))


def ref(number: int, name: str = "") -> ClaimRef:
    return ClaimRef("team-a", f"uid-{number}", name or f"claim-{number}")


def result(index: int, request: str = "main", node: str = NODE, **more: Any) -> Object:
    return {"request": request, "driver": DRIVER, "pool": node, "device": f"gpu-{index}"} | more


def claim(which: ClaimRef, *indexes: int, node: str = NODE) -> Object:
    """A claim that a pod uses."""
    results = [result(index, node=node) for index in indexes]
    return {
        "metadata": {"uid": which.uid, "namespace": which.namespace, "name": which.name},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": "pod", "uid": "p"}],
        },
    }
