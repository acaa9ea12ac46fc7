"""NodeActivities: what is watched, and which changes matter."""

from __future__ import annotations

from collections.abc import Callable

from devctl.api.placing import NodeFacts
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.kinds.activity.controller import ActivityController
from devctl_observer.kinds.activity.figures import export
from devctl_observer.kinds.activity.model import Activity
from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.watching.store import Key


class Activities(Family[Activity]):
    """The family of NodeActivities."""

    controller: ActivityController

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        super().__init__(ActivityController(process), workers=2)
        self.reports = Reports(process.clock.steady)
        export(self.reports)
        self.reported: Callable[[str], None] = lambda _: None
        """Called with each node of which a new report has arrived."""

    def changed(self, old: Activity | None, new: Activity | None) -> None:
        """Take note of a report; reconcile an object that is not as it was made."""
        item = new or old
        if item is None:
            return
        name = item.metadata.name
        if self.reports.note(name, new):
            self.reported(name)
        if old is None or new is None or old.spec != new.spec:
            self.look_at(name)

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Create the object of a new node."""
        if new and (old is None or old.uid != new.uid):
            self.look_at(new.name)

    def look_at(self, node: str) -> None:
        """Reconcile the object of a node."""
        self.queue.add(Key("", node))
