"""LifecyclePolicies: one whose flavors are there, and one whose flavor is missing at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lives import Life
from support.one import One

from devctl.api.kinds import LIFECYCLE_POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene


class Policies(Life):
    """For users whom nobody else knows."""

    kinds = (LIFECYCLE_POLICY,)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        self.found, self.missing = (
            One(scene.api, LIFECYCLE_POLICY, f"{scene.mark}-{name}")
            for name in ("found", "missing")
        )

    def begin(self) -> Iterator[None]:
        """Both, and wait until each says so."""
        self._apply(self.found, self.scene.flavor)
        self._apply(self.missing, self.scene.later)
        yield
        yield
        self.found.wait("FlavorsFound")
        self.missing.wait("FlavorsFound", "False")

    def go_on(self) -> Iterator[None]:
        """The missing flavor is created."""
        yield
        self.missing.wait("FlavorsFound")

    def go_back(self) -> Iterator[None]:
        """Another one is missing."""
        self._apply(self.found, f"{self.scene.mark}-none")
        yield
        self.found.wait("FlavorsFound", "False")

    def _apply(self, one: One, flavor: str) -> None:
        one.apply(
            users=[f"{one.name}@company.com"], flavors=[flavor], idleTimeout={"minimum": "1h"}
        )
