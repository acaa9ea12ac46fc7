"""VLLMRuns: create, look at, follow and delete them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.api.vllm_run import LABEL, claim_name
from devctl.client.events import Event
from devctl.client.objects import NamedCollection
from devctl.client.vllm.replay import replayed
from devctl.client.vllm.run import VLLMRun, check_name
from devctl.client.waiting import follow, ignore, to_its_end, wait_gone
from devctl.errors import DevctlError, NotFoundError, WaitTimeoutError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.client.vllm.capsules import Capsules
    from devctl.client.vllm.request import Request

_KIND = resources.VLLMRun
_GONE = "list yours with `devctl vllm list`"


class VLLMRuns(NamedCollection[VLLMRun]):
    """The VLLMRuns that a user may see.

    for seen in client.vllm_runs.follow("my-demo"):
        print(seen.phase, seen.message)
    """

    _kind, _item = _KIND, VLLMRun
    _noun, _see = "vLLM run", "list yours with `devctl vllm list`, those of all namespaces with -A"
    _check_name = staticmethod(check_name)

    def create(self, name: str, request: Request, *, dry_run: bool = False) -> VLLMRun:
        """Create a run.

        Raises:
            AlreadyExistsError: There is one of that name.
            UsageError: The request is not possible.
            DeniedError: Missing permissions or a budget forbid it.
        """
        return VLLMRun(self._cluster.create(_KIND, request.manifest(name), dry_run=dry_run))

    @property
    def capsules(self) -> Capsules:
        """The capsules of checkouts in the namespace."""
        from devctl.client.vllm.capsules import Capsules  # noqa: PLC0415 - heavy

        return Capsules(self._cluster)

    def replay(self, which: str | VLLMRun, name: str, *, dry_run: bool = False) -> VLLMRun:
        """Create a run that does the same as another one, with the very same capsule.

        Raises:
            NotFoundError: The other one, or its capsule, does not exist any more.
            AlreadyExistsError: There is one of the new name.
        """
        found = self._known(which)
        self.capsules.check(found)
        return VLLMRun(self._cluster.create(_KIND, replayed(found, name), dry_run=dry_run))

    def own(self) -> Sequence[VLLMRun]:
        """Those of the user's namespace that belong to the user."""
        me = self._cluster.whoami()
        return [run for run in self.list() if run.owner == me]

    def follow(self, name: str, seconds: float | None = None) -> Iterator[VLLMRun]:
        """A run now and after each change, until it ends or the seconds have passed.

        Raises:
            WaitTimeoutError: It has not ended by then.
            NotFoundError: It does not exist, at once, or was deleted meanwhile.
        """
        self.get(name)
        return self._changes(name, seconds)

    def _changes(
        self, name: str, seconds: float | None, missing: str = "has not ended"
    ) -> Iterator[VLLMRun]:
        changes = map(VLLMRun, follow(self._cluster, _KIND, name, seconds, _GONE))
        last = yield from to_its_end(changes, name, _GONE)
        if last and last.finished:
            return
        why = f" ({last.phase}): {last.message}" if last and last.message else ""
        raise WaitTimeoutError(
            f"`{name}` {missing} after {seconds:.0f} s{why}",
            f"it continues: look with `devctl vllm describe {name}`",
        )

    def wait_ready(
        self,
        name: str,
        seconds: float | None = None,
        progress: Callable[[VLLMRun], object] = ignore,
    ) -> VLLMRun:
        """Wait until a run is served; without a port, until its program runs; or until its end.

        Raises:
            WaitTimeoutError: Neither has happened by then.
        """
        self.get(name)
        for seen in self._changes(name, seconds, "is not up"):
            if seen.ready or seen.finished:
                return seen
            progress(seen)
        raise NotFoundError(f"`{name}` was deleted while it was waited for", _GONE)

    def attend(self, name: str, tail: int | None = None) -> Iterator[VLLMRun | bytes]:
        """A run after each change, and what its program prints, until it ends."""
        read = False
        for seen in self.follow(name):
            yield seen
            if seen.started and not read:
                read = True
                # A finished run's pod may be gone, with its output.
                with suppress(NotFoundError):
                    yield from self._cluster.log(seen.pod, follow=True, tail=tail)

    def logs(self, name: str, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        """What a run has printed; `tail` limits it to the last lines.

        With `follow`, also what it will print, until it ends.

        Raises:
            NotFoundError: Its pod does not exist any more, and the output with it.
            DevctlError: It has printed nothing yet.
        """
        run = self.get(name)
        if follow and not run.finished:
            return (each for each in self.attend(name, tail) if isinstance(each, bytes))
        if not run.started and not run.finished:
            raise DevctlError(
                f"`{name}` has printed nothing yet: {run.phase}, {run.reason or 'not observed'}",
                run.message or f"wait for it with `devctl vllm logs -f {name}`",
            )
        return self._printed(run, tail)

    def _printed(self, run: VLLMRun, tail: int | None) -> Iterator[bytes]:
        try:
            yield from self._cluster.log(run.pod, tail=tail)
        except NotFoundError as error:
            raise NotFoundError(
                f"the pod of `{run.name}` is gone with its output",
                f"`devctl vllm describe {run.name}` has the last lines;"
                " spec.ttlSecondsAfterFinished is how long the pod is kept",
            ) from error

    def events(self, name: str) -> Sequence[Event]:
        """The events about a run, its claim and its pod, oldest first."""
        run = self.get(name)
        about = {(_KIND.name, name), ("ResourceClaim", claim_name(name)), ("Pod", run.pod)}
        found = map(Event, self._cluster.list(resources.Event))
        return sorted(
            (each for each in found if (each.object.get("kind"), each.object.get("name")) in about),
            key=lambda event: event.at,
        )

    def wait_gone(
        self,
        run: VLLMRun,
        seconds: float | None = None,
        progress: Callable[[str], None] = ignore,
    ) -> None:
        """Wait until a deleted run is gone with its pod and claim, so that its GPUs are free.

        Raises:
            WaitTimeoutError: Something still exists.
            AlreadyExistsError: There is a new run of that name.
        """

        def remains() -> str:
            for kind, what in ((resources.Pod, "pod"), (resources.ResourceClaim, "claim")):
                if next(self._cluster.list(kind, labels={LABEL: run.name}), None):
                    return f"its {what} still exists"
            return ""

        kept = f"see it with `kubectl get pods,resourceclaims -l {LABEL}={run.name}`"
        find = lambda: self.find(run.name)  # noqa: E731 - an argument
        wait_gone(run.name, run.uid, find, remains, seconds, kept, progress)
