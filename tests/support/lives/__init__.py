"""Objects of every kind in telling states, on the way from one release to another and back.

Each module has the lives of a kind's objects. A kind without one fails the test of the upgrade.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from devctl.api.devserver_user import namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from support.api import Api
    from support.commands import Kubectl

    from devctl.api.kinds import Kind

HOUR = 3600
DAY = 24 * HOUR
PRICE = {"perHour": "3.60", "currency": "EUR"}


@dataclass(frozen=True)
class Scene:
    """Where they live.

    Attributes:
        kubectl: An administrator's.
        namespace: One of the test's own.
        image: Of pods.
    """

    kubectl: Kubectl
    namespace: str
    image: str

    @property
    def api(self) -> Api:
        """The API server, as an administrator."""
        return self.kubectl.api

    @property
    def mark(self) -> str:
        """A part of the name of each object that has no namespace, none of which may be long."""
        return self.namespace[-30:].lstrip("-")

    @property
    def flavor(self) -> str:
        """A flavor for small pods, with a price."""
        return f"{self.mark}-small"

    @property
    def later(self) -> str:
        """A flavor that is missing at first."""
        return f"{self.mark}-later"

    @property
    def users(self) -> dict[str, str]:
        """The names of users, and what their objects are called."""
        return {f"{self.mark}-{who}@company.com": self.user(who) for who in ("ann", "bob")}

    def user(self, who: str) -> str:
        """What a user's object is called."""
        return f"{self.mark}-{who}"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The test's own, and those of users."""
        return (self.namespace, *map(namespace_of, self.users.values()))


class Life:
    """Some objects' lives, in acts.

    An act asks for something, yields, and only then waits for it: the other lives have asked
    meanwhile.

    Attributes:
        kinds: Of which it has objects. Those of a kind that is new begin by the release after.
    """

    kinds: ClassVar[tuple[Kind, ...]] = ()

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        self.scene = scene

    def begin(self) -> Iterator[None]:
        """By the release before: create them, and wait until each is in its state."""
        yield from ()

    def go_on(self) -> Iterator[None]:
        """By the release after: what waits starts, what runs ends."""
        yield from ()

    def expire(self) -> Iterator[None]:
        """By the release after, hours later: what has ended is deleted."""
        yield from ()

    def go_back(self) -> Iterator[None]:
        """By the release before, again: nothing is stuck."""
        yield from ()


def lives(scene: Scene) -> list[Life]:
    """One of each module here."""
    modules = (
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    )
    found = (each for module in modules for _, each in inspect.getmembers(module, inspect.isclass))
    classes = {each for each in found if issubclass(each, Life) and each is not Life}
    return [each(scene) for each in sorted(classes, key=lambda each: each.__name__)]


def together(acts: Iterable[Callable[[], Iterator[None]]]) -> None:
    """Play acts at once: all up to their first `yield`, then all up to their second, to the end."""
    playing = [act() for act in acts]
    while playing:
        playing = [act for act in playing if next(act, "over") != "over"]
