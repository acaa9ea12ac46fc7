"""How a run has ended, over all its ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.client.runs.events import Ended, Lost, Printed
from devctl.client.runs.tail import Tail
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from devctl.client.runs.events import End, Event
    from devctl.client.runs.place import Place

_PLAIN = 1


@dataclass
class Outcome:
    """What is known of the end of a run; it is told everything that is told of the run.

    Attributes:
        place: Where the run is.
        run: Its name.
        ends: How each rank has ended that has.
    """

    place: Place
    run: str
    ends: dict[int, End] = field(default_factory=dict)
    _tails: dict[int, Tail] = field(default_factory=dict)

    def tell(self, event: Event) -> None:
        """Take note of what has happened."""
        if isinstance(event, Printed):
            self._tails.setdefault(event.rank, Tail()).add(event.data)
        elif isinstance(event, Ended | Lost):
            self.ends[event.rank] = event

    @property
    def first_failure(self) -> End | None:
        """The first rank that has failed; None while none has."""
        failed = [e for e in self.ends.values() if isinstance(e, Lost) or e.code]
        return min(failed, key=lambda end: end.at, default=None)

    @property
    def exit_code(self) -> int:
        """The first failure's; 0 where there is none."""
        first = self.first_failure
        if first is None:
            return 0
        return first.code if isinstance(first, Ended) else _PLAIN

    @property
    def last_lines(self) -> list[bytes]:
        """The last of what the rank has printed that has failed first."""
        first = self.first_failure
        return self._tails[first.rank].lines() if first and first.rank in self._tails else []

    def error(self) -> DevctlError | None:
        """The first failure as an error; None where all has gone well."""
        first = self.first_failure
        if first is None:
            return None
        who = self.place.called(first.rank)
        if isinstance(first, Lost):
            return DevctlError(
                f"{who}: {first.why}",
                f"when it runs again, start the run anew; `devctl logs {self.place.server}"
                f" {self.run}` has what it printed",
            )
        error = DevctlError(
            f"run `{self.run}` has failed: {who} ended with exit code {first.code}",
            f"see all it printed with `devctl logs {self.place.server} {self.run}"
            + (f" --replica {first.rank}`" if self.place.size > 1 else "`"),
        )
        error.exit_code = first.code
        return error
