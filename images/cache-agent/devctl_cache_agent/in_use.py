"""Which paths of the cache are mounted: what runtime, kernel and claims say.

The runtime knows each container's mounts from the moment that it is made, also before it starts
and after it ends. Volumes and subPaths have other paths there; the kernel shows these. What the
DRA plugin has promised the containers of a claim is in the claim's CDI file, before any of them is
made and until the last has ended; the runtime does not list these mounts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl_cache_agent.mounts import inside, mounted, promised
from devctl_cache_agent.problems import CacheError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl_cache_agent.runtime import Runtime


_OURS = "canhazgpu.com-*.json"


class InUse:
    """Asks all of them.

    Args:
        runtime: The node's.
        cache: The cache's folder, which has the same path on the node.
        pods: The kubelet's folder of pods, likewise.
        mountinfo: The kernel's table.
        cdi: The container runtime's folder of CDI specifications.
        tell: Told why it is unknown; nothing if it is known.
    """

    def __init__(  # noqa: PLR0913 - what there is to ask
        self,
        runtime: Runtime,
        *,
        cache: str,
        pods: str,
        mountinfo: Path,
        cdi: Path,
        tell: Callable[[list[str]], None],
    ) -> None:
        """Ask nothing yet."""
        self._runtime, self._tell = runtime, tell
        self._cache, self._pods, self._mountinfo, self._cdi = cache, pods, mountinfo, cdi

    def __call__(self) -> set[str] | None:
        """The mounted paths, in the cache; None if that is unknown."""
        try:
            found = inside(self._runtime.host_paths(), self._cache)
            # The agent's own mount shows all of the cache; it holds nothing.
            found |= mounted(self._mountinfo.read_text(), self._cache, self._pods)
            found |= inside(self._promised(), self._cache)
        except (CacheError, OSError) as error:
            self._tell([f"what pods use is unknown, so that nothing is removed: {error}"])
            return None
        self._tell([])
        return found

    def _promised(self) -> set[str]:
        found: set[str] = set()
        # A folder that is not there would look like an empty one.
        names = [each.name for each in self._cdi.iterdir() if each.match(_OURS)]
        for name in names:
            try:
                found |= promised((self._cdi / name).read_text())
            except FileNotFoundError:
                # Its claim has ended since the folder was listed.
                continue
        return found
