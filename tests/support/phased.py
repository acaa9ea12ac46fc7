"""An object of a kind of ours whose status has a phase and a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from support.plane import scenarios
from support.servers import condition_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.api import Api

    from devctl.api.kinds import Kind

Thing = dict[str, Any]


@dataclass(frozen=True)
class Phased:
    """It, as its user sees it.

    Attributes:
        kind: Its kind.
        api: The API server, as its user.
        namespace: Where it is.
        name: Its name.
    """

    kind: ClassVar[Kind]
    api: Api
    namespace: str
    name: str = "one"

    @property
    def plural(self) -> str:
        """How requests name its kind."""
        return f"{self.kind.plural}.{self.kind.group}"

    def apply_spec(self, spec: Thing) -> None:
        """Apply it with a spec."""
        metadata = {"name": self.name, "namespace": self.namespace}
        kind = {"apiVersion": self.kind.api_version, "kind": self.kind.name}
        self.api.apply(kind | {"metadata": metadata, "spec": spec})

    @property
    def status(self) -> Thing:
        """Its status."""
        found = self.api.get(self.plural, self.name, self.namespace)
        return dict(found.get("status", {})) if found else {}

    def wait(self, phase: str, reason: str = "", seconds: float = 90) -> Thing:
        """Wait until it is in a phase, for a reason; the status then."""
        return self.follow(
            lambda s: s.get("phase") == phase and reason in {"", s.get("reason")},
            f"{phase} {reason}",
            seconds,
        )

    def follow(self, true: Callable[[Thing], bool], what: str, seconds: float = 90) -> Thing:
        """Wait until something holds for its status; the status then."""
        found: Thing = {}

        def so(thing: Thing) -> bool:
            nonlocal found
            found = thing.get("status", {})
            return true(found)

        assert self.api.follow(self.plural, self.name, self.namespace, so, seconds), (what, found)
        return found

    def condition(self, kind: str) -> Thing:
        """One of its conditions."""
        return condition_of(self.status, kind)

    def end_pod(self, pod: str, scenario: str) -> None:
        """Have a pod of its end as a scenario says."""
        note = {"metadata": {"annotations": {scenarios.END: scenario}}}
        self.api.patch("pod", pod, note, self.namespace)
