"""One object of a kind of ours, and what people look at in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.plane import scenarios
from support.servers import condition_of, wait_until

if TYPE_CHECKING:
    from support.api import Api

    from devctl.api.kinds import Kind

Thing = dict[str, Any]


@dataclass(frozen=True)
class One:
    """An object as its user sees it.

    Attributes:
        api: The API server, as its user.
        kind: Its kind.
        namespace: Where what is made for it is; and it itself, unless its kind has no namespaces.
        name: Its name; of a kind without namespaces, one for each test.
    """

    api: Api
    kind: Kind
    namespace: str

    @property
    def name(self) -> str:
        """Its name, which a cluster has once."""
        return "one" if self.kind.namespaced else self.namespace

    def apply(self, **spec: Any) -> None:
        """Apply it with a spec."""
        metadata = {"name": self.name}
        if self.kind.namespaced:
            metadata["namespace"] = self.namespace
        made = {"apiVersion": self.kind.api_version, "kind": self.kind.name, "metadata": metadata}
        self.api.apply(made | {"spec": spec})

    def read(self) -> Thing | None:
        """What there is of it."""
        return self.api.get(f"{self.kind.plural}.{self.kind.group}", self.name, self.namespace)

    def wait(self, kind: str, status: str = "True", reason: str = "") -> Thing:
        """Wait until a condition is as wanted for the present spec; the condition then."""
        said: Thing = {}

        def so() -> bool:
            nonlocal said
            found = self.read()
            assert found, f"{self.kind.name} {self.name} is gone"
            said = condition_of(found.get("status", {}), kind)
            current = said.get("observedGeneration") == found["metadata"]["generation"]
            return current and said["status"] == status and reason in {"", said["reason"]}

        wait_until(so, lambda: f"{kind}={status} {reason} of {self.name}: {said}")
        return said

    def child(self, kind: str, name: str) -> Thing | None:
        """Something in its namespace."""
        return self.api.get(kind, name, self.namespace)

    def lose(self, kind: str, name: str) -> None:
        """Delete what was made for it, and wait until it is there again."""
        before = self.child(kind, name)
        assert before is not None
        self.api.delete(kind, name, self.namespace)

        def again() -> bool:
            now = self.child(kind, name)
            return now is not None and now["metadata"]["uid"] != before["metadata"]["uid"]

        wait_until(again, f"{kind} {self.namespace}/{name} is made again")

    def end(self, pod: str, scenario: str = "succeed") -> None:
        """End a pod that runs on a plane, where it has no program: `succeed` or `fail`."""
        note = {"metadata": {"annotations": {scenarios.END: scenario}}}
        self.api.patch("pod", pod, note, self.namespace)

    def delete(self) -> None:
        """Delete it, and wait until it is gone."""
        self.api.delete(f"{self.kind.plural}.{self.kind.group}", self.name, self.namespace)
        wait_until(lambda: self.read() is None, lambda: f"it goes: {self.read()}")
