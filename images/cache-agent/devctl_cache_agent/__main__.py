"""The agent's process: `python -m devctl_cache_agent`."""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.api.node_cache import mirror_path
from devctl_cache_agent import server, settings
from devctl_cache_agent.agent import Board, Reporter, Worker
from devctl_cache_agent.api import ApiError, ApiServer
from devctl_cache_agent.durations import FILE, Durations
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.fetching import Web
from devctl_cache_agent.images import Images
from devctl_cache_agent.in_use import InUse
from devctl_cache_agent.keys import Keys
from devctl_cache_agent.mirrors import Mirrors
from devctl_cache_agent.mirrors import Settings as GitSettings
from devctl_cache_agent.models import Models, staging_name
from devctl_cache_agent.plan import Sort
from devctl_cache_agent.problems import CacheError
from devctl_cache_agent.runtime import Runtime, over
from devctl_cache_agent.settings import SettingError, Settings
from devctl_cache_agent.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

READY = Path("/run/cache-agent/ready")
SECRETS = Path("/etc/canhazgpu")
"""Folders of Secrets, which may not be there: hf-token, git-ssh and cache-agent-api."""
_WATCH = 60
_WATCHDOG = 180
"""Seconds after which the watching has hung, and the kernel ends the process."""
_TOUCH = 60.0


def main(environment: Mapping[str, str] = os.environ) -> None:
    """Run until a signal; exits with 2 if the settings are invalid."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s cache-agent: %(message)s"
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        chosen = settings.read(environment)
        api = ApiServer.from_environment(environment)
        web = Web(chosen.endpoint, lambda: secret("hf-token", "token"))
    except (SettingError, CacheError) as error:
        log.error("%s", error)  # noqa: TRY400 - no traceback for settings
        sys.exit(2)
    except KeyError as error:
        log.error("the variable %s is not set", error)  # noqa: TRY400
        sys.exit(2)
    agent = Agent(chosen, api, web, environment)
    agent.start()
    agent.watch()


class Agent:
    """All parts together."""

    def __init__(
        self, chosen: Settings, api: ApiServer, web: Web, environment: Mapping[str, str]
    ) -> None:
        """Make the parts; none of them works yet."""
        self._chosen, self._api = chosen, api
        self._node: dict[str, Any] = {}
        self.board = Board()
        runtime = Runtime(over(chosen.socket))
        used = InUse(
            runtime,
            cache=chosen.root,
            pods=chosen.pods,
            mountinfo=Path("/proc/self/mountinfo"),
            cdi=Path(chosen.cdi),
            tell=lambda errors: self.board.tell_errors("use", errors),
        )
        root = Path(chosen.root)
        root.mkdir(parents=True, exist_ok=True)
        reserve = shutil.disk_usage(root).total * chosen.free_percent // 100
        self._shelf = Shelf(root, Limits(chosen.most, reserve), used)
        self._shelf.wanted = self.wanted
        git = GitSettings(
            protocols=chosen.git_protocols,
            mirrors=chosen.git_mirrors,
            ssh=Keys(SECRETS / "git-ssh", READY.parent, chosen.git_user),
            user=chosen.git_user,
            most=chosen.most,
        )
        durations = Durations(root / FILE)
        self._models = Models(self._shelf, web, durations)
        mirrors = Mirrors(self._shelf, git, environment, durations)
        images = Images(runtime, lambda: shutil.disk_usage(root).free - reserve, durations)
        clock = time.monotonic
        # Images beside files: neither waits for the other's large one.
        self._files = Worker(
            self.board, {Sort.MIRROR: mirrors, Sort.MODEL: self._models}, clock, random.random
        )
        self.images = Worker(self.board, {Sort.IMAGE: images}, clock, random.random)
        self.reporter = Reporter(
            self.board,
            lambda status: api.report(self._node, status),
            (ApiError,),
            clock,
            lambda: datetime.now(UTC),
        )
        self._touched = clock()

    def start(self) -> None:
        """Start all but the watching of the plan."""
        for step in (self.step_files, self.images.step, self.reporter.step):
            threading.Thread(target=_forever, args=(step,), daemon=True).start()
        serving = server.Server(("", self._chosen.port), self.page)
        threading.Thread(target=serving.serve_forever, daemon=True).start()

    def watch(self) -> None:
        """Follow the plan and the node's labels."""
        while True:
            signal.alarm(_WATCHDOG)
            self.look()

    def look(self, pause: Callable[[float], None] = time.sleep) -> None:
        """Take over what the plan wants now, and wait until it changes."""
        try:
            plan, version = self._api.plan()
            node = self._api.node(self._chosen.node)
            labels = (node.get("metadata") or {}).get("labels") or {}
            self._node = node
            self.board.want(plan, labels)
            self.board.tell_errors("API server", [])
            READY.touch()
            self._api.wait_for_plan(version, _WATCH)
        except ApiError as error:
            self.board.tell_errors("API server", [str(error)])
            READY.touch()  # the kinds may be installed after the agent
            pause(5.0)
        pause(1.0)

    def step_files(self) -> float:
        """Keep a mirror or a model whose turn it is, and the folder tidy."""
        now = time.monotonic()
        if self.board.is_read and now >= self._touched + _TOUCH:
            self._touched = now
            self._shelf.touch()
            self._shelf.sweep()
            kept = tuple(staging_name(item) for item in self.board.items((Sort.MODEL,)))
            self._shelf.keep_staged(lambda name: name.startswith(kept))
        return self._files.step()

    def wanted(self) -> set[str]:
        """The paths in the cache that the plan wants."""
        found = {mirror_path(item.name) for item in self.board.items((Sort.MIRROR,))}
        models = (self._models.snapshot(item) for item in self.board.items((Sort.MODEL,)))
        return found | {path for path in models if path}

    def page(self, path: str, authorization: str) -> server.Page:
        """The answer of the HTTP API."""
        return server.answer(
            path,
            authorization,
            secret("cache-agent-api", "token") or "",
            self.board.content,
            lambda: self.reporter.problem,
        )


def secret(name: str, key: str, folder: Path = SECRETS) -> str | None:
    """A key of a Secret; None if it is not there. Read each time, since it may change."""
    try:
        return (folder / name / key).read_text().strip() or None
    except OSError:
        return None


def _forever(step: Callable[[], float]) -> None:
    while True:
        try:
            pause = step()
        except Exception:
            log.exception("a step failed")
            pause = 30.0
        time.sleep(pause)


if __name__ == "__main__":
    main()
