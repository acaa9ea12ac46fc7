"""The agent's loop: look, register if need be, report."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from devctl.agents.nvidia_smi import ToolError
from devctl_gpu_worker_agent.bodies import (
    AnswerError,
    Membership,
    heartbeat,
    interval,
    membership,
    registration,
)
from devctl_gpu_worker_agent.cluster import ApiError
from devctl_gpu_worker_agent.gateway import GatewayError
from devctl_gpu_worker_agent.saying import Saying
from devctl_gpu_worker_agent.schedule import Backoff, pause
from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_gpu_worker_agent.bodies import Body
    from devctl_gpu_worker_agent.facts import Free
    from devctl_gpu_worker_agent.looking import Seen
    from devctl_gpu_worker_agent.shelf import Token

_NOTHING_TO_DO = 60.0
"""Seconds until a node without GPUs is looked at again: its device plugin may start later."""
_AGAIN = 600.0
"""Seconds until a node that is no longer what it has registered as tries to say so again."""
_NEXT_TOKEN = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT}
"""Refusals of a token, after which another one may do."""


class Posts(Protocol):
    """Where reports go."""

    def post(self, path: str, token: str, body: dict[str, Any]) -> Any:
        """The answer to a request."""


class Keeps(Protocol):
    """What outlasts this process."""

    def load(self) -> Membership | None:
        """What was kept."""

    def keep(self, member: Membership) -> None:
        """Keep it."""

    def forget(self) -> None:
        """Drop it."""


class Agent:
    """The agent of one node.

    Args:
        gateway: Where reports go.
        look: Looks at the node.
        tokens: Those to register with, the best first.
        shelf: Keeps the node's key.
        version: Of the agent.
        most_jobs: Jobs that the node takes at once; 0 for one per GPU.
        clock: The monotonic clock.
        random: A random number from 0 to 1, at each call.
    """

    def __init__(  # noqa: PLR0913 - what it depends on
        self,
        gateway: Posts,
        look: Callable[[], Seen],
        tokens: Callable[[], list[Token]],
        shelf: Keeps,
        *,
        version: str,
        most_jobs: int,
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        """Go on with the key of this pod's last container, if there was one."""
        self._gateway, self._look, self._tokens, self._shelf = gateway, look, tokens, shelf
        self._version, self._most_jobs = version, most_jobs
        self._clock, self._random = clock, random
        self._saying, self._backoff = Saying(clock), Backoff()
        self._member = shelf.load()
        self._introduced = False
        self._changed_at = clock()
        self.is_ready = False
        """Whether the gateway has taken a report, or there is nothing to report."""

    def step(self) -> float:
        """Do what is due; the seconds until something is again."""
        try:
            return self._step()
        except GatewayError as error:
            self._say(f"the gateway: {error}")
            return self._backoff.failed(self._random(), error.wait)
        except (ApiError, ToolError, AnswerError, OSError, ValueError) as error:
            self._say(clean(str(error), 512))
            return self._backoff.failed(self._random())

    def _step(self) -> float:
        seen = self._look()
        wanted = registration(seen.facts, self._most_jobs)
        if self._member is None:
            if not seen.facts.gpu_count:
                self._saying.say("none", "this node has no GPUs: it is not registered")
                self.is_ready = True
                return _NOTHING_TO_DO
            self._member = self._register(wanted)
        elif self._member.facts != wanted and self._clock() >= self._changed_at:
            self._member = self._register_again(self._member, wanted)
        every = self._report(self._member, seen.free)
        self._backoff.succeeded()
        self.is_ready = True
        return pause(every, self._random())

    def _register(self, wanted: Body) -> Membership:
        """Register the node with the first token that is accepted."""
        refusals = []
        for token in self._tokens():
            try:
                answer = self._gateway.post("nodes/register", token.text, wanted)
            except GatewayError as error:
                if error.code not in _NEXT_TOKEN:
                    raise
                refusals.append(f"{token.kind}: {error}")
                continue
            member = membership(answer, wanted)
            self._shelf.keep(member)
            self._introduced = False
            count, kind, size = (wanted[n] for n in ("gpu_count", "gpu_type", "gpu_memory_total"))
            gpus = f"{count} x {kind} of {size} MB"
            text = f"registered as {member.node_id} by its {token.kind}: {gpus}"
            self._saying.say(f"registered {member.node_id} {gpus}", text)
            return member
        said = "; ".join(refusals) or "there is no token: create the Secret imagepod-secrets"
        raise GatewayError(f"the node cannot register: {said}")

    def _register_again(self, member: Membership, wanted: Body) -> Membership:
        """Say what the node is now; what was said before holds if that is refused."""
        self._changed_at = self._clock() + _AGAIN
        try:
            return self._register(wanted)
        except (GatewayError, AnswerError) as error:
            self._say(f"the node has changed, which the gateway cannot be told: {error}")
            return member

    def _report(self, member: Membership, free: Free) -> int:
        """Send a heartbeat; the seconds between two."""
        try:
            if not self._introduced:
                body = {"node_id": member.node_id, "agent_version": self._version}
                self._gateway.post("agents/register", member.api_key, body)
                self._introduced = True
            path = f"nodes/{member.node_id}/heartbeat"
            answer = self._gateway.post(path, member.api_key, heartbeat(member.node_id, free))
        except GatewayError as error:
            if error.is_unknown:
                # Somebody has revoked the key, or the registry was lost.
                self._member = None
                self._shelf.forget()
            raise
        state = clean(str(answer.get("state", "")) if isinstance(answer, dict) else "", 32)
        health = free.problem or "healthy"
        self._saying.say(
            f"{member.node_id} {state} {health}",
            f"{member.node_id} is {state or 'heard'}, {health}; free: {free.gpu_memory} MB of GPU "
            f"memory, {free.cpu_cores} cores; jobs: {free.jobs}",
        )
        return interval(answer) or member.every

    def _say(self, problem: str) -> None:
        self._saying.say(problem, problem, logging.WARNING)
