"""How a pod's hooks ended, from what its scripts recorded; a pod can record anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lightkube.models.core_v1 import Pod

from devctl.api.conditions import find
from devctl.api.devserver import Condition
from devctl.api.hooks import MAX_HOOKS, MAX_OUTCOMES, MAX_OUTPUT, RECORD, End, Result
from devctl.api.labels import HOOKS
from devctl.api.workloads import PREEMPTED
from devctl_observer.judging.clocks import to_text
from devctl_observer.judging.model import Transition, meta_of, notes_of
from devctl_observer.judging.pods import ends_at, has_ended, own_statuses, pod_condition
from devctl_observer.judging.printable import shown
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.replicas import ordinal

_SUCCEEDED = "HooksSucceeded"
_REASONS = {
    Result.FAILED: "HookFailed",
    Result.TIMED_OUT: "HookTimedOut",
    Result.UNKNOWN: "HookUnknown",
}
"""Reasons of Events."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?", re.ASCII)
_END = re.compile(r"(Succeeded|Failed|TimedOut) ([0-9]{1,3}) ([0-9]{1,6})", re.ASCII)
_MAX_LINES = 4 * MAX_HOOKS
_KILLED = 137


class Outcome(NamedTuple):
    """How a hook ended."""

    name: str
    result: Result = Result.UNKNOWN
    exit_code: int | None = None
    seconds: int | None = None
    output: str = ""
    """On one line."""


class Ended(NamedTuple):
    """How all hooks of a pod ended."""

    replica: int
    event: str
    """Why the pod ended."""
    at: str
    """When its container ended."""
    outcomes: Sequence[Outcome]

    def to_status(self) -> list[dict[str, Any]]:
        """Entries of status.hooks."""
        return [
            {
                "name": outcome.name,
                "replica": self.replica,
                "event": self.event,
                "result": str(outcome.result),
                "at": self.at,
                **({} if outcome.exit_code is None else {"exitCode": outcome.exit_code}),
                **({} if outcome.seconds is None else {"seconds": outcome.seconds}),
                **({"output": outcome.output} if outcome.output else {}),
            }
            for outcome in self.outcomes
        ]


def hooks_of(pod: Pod) -> list[str]:
    """The names of a pod's hooks, in order."""
    names = notes_of(pod).get(HOOKS, "").split(",", MAX_HOOKS)[:MAX_HOOKS]
    return list(dict.fromkeys(name for name in names if _NAME.fullmatch(name)))


def is_ending(pod: Pod) -> bool:
    """Whether a pod ends; a container that just ends by itself is started again."""
    return has_ended(pod) or ends_at(pod) is not None


def ended(pod: Pod, event: str) -> Ended | None:
    """How the hooks of a pod ended; None if they have not, or if nothing is known.

    A container that was killed and has recorded nothing got no time for its hooks.
    """
    names, replica = hooks_of(pod), ordinal(meta_of(pod.metadata).name)
    container = next(iter(own_statuses(pod)), None)
    state = container.state.terminated if container and container.state else None
    if not names or replica is None or not is_ending(pod):
        return None
    if state is None or state.finishedAt is None:
        return None
    outcomes = parse(state.message or "", names)
    if outcomes is None and state.exitCode == _KILLED:
        outcomes = [Outcome(name) for name in names]
    return (outcomes and Ended(replica, event, to_text(state.finishedAt), outcomes)) or None


def parse(text: str, names: Iterable[str]) -> list[Outcome] | None:
    """The outcomes in a termination message, of these hooks; None if it is no record."""
    first, *lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
    if first != RECORD:
        return None
    found = {name: Outcome(name) for name in names}
    name = ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "begin":
            name = rest
        elif word == "out" and name in found:
            found[name] = found[name]._replace(output=shown(rest, MAX_OUTPUT))
        elif word == "end" and name in found and (end := _END.fullmatch(rest)):
            result, code, seconds = Result(end[1]), int(end[2]), int(end[3])
            found[name] = found[name]._replace(result=result, exit_code=code, seconds=seconds)
    return list(found.values())


def event_of(pod: Pod, server: Server, *, preempted: bool, suspended: str) -> str:
    """Why a pod of a server ends, in a word.

    Args:
        pod: The pod, which has just begun to end.
        server: The server as it is now.
        preempted: Whether its queue has taken back its quota.
        suspended: The word for the suspension of its user; empty if the user is not suspended.
    """
    disrupted = pod_condition(pod, "DisruptionTarget")
    if disrupted and disrupted.status == "True":
        by_scheduler = disrupted.reason == "PreemptionByScheduler"
        return PREEMPTED if by_scheduler else End.EVICTED
    if not ends_at(pod):
        # Only a kubelet ends a pod of a StatefulSet that nobody has deleted.
        return End.EVICTED
    if server.going:
        return End.DELETED
    said = find(server.status, Condition.READY).get("reason")
    if preempted or (server.spec.stopped and said == PREEMPTED):
        return PREEMPTED
    if server.spec.stopped:
        return server.stopped_by or suspended or End.STOPPED
    return End.REPLACED


def merged(known: Sequence[Mapping[str, Any]], ends: Iterable[Ended]) -> list[dict[str, Any]]:
    """The status.hooks of a server: the last end of each replica.

    Args:
        known: What it is now. An end that it has already, from an earlier process, is kept.
        ends: What is new.
    """
    replicas: dict[int, list[dict[str, Any]]] = {}
    for entry in known:
        replicas.setdefault(int(entry["replica"]), []).append(dict(entry))
    for end in ends:
        if not any(entry["at"] == end.at for entry in replicas.get(end.replica, ())):
            replicas[end.replica] = end.to_status()
    entries = [entry for replica in sorted(replicas) for entry in replicas[replica]]
    # A stable sort.
    worst = sorted(entries, key=lambda entry: entry["result"] == Result.SUCCEEDED)
    return sorted(worst[:MAX_OUTCOMES], key=entries.index)


def hook_transitions(
    known: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], server: str
) -> Iterator[Transition]:
    """The Events for new entries of status.hooks: one for all that succeeded.

    Of several replicas in which a hook ended in the same way, the first is described.
    """
    new = [entry for entry in after if entry not in known]
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in new:
        groups.setdefault((str(entry["name"]), str(entry["result"])), []).append(entry)
    for (_, result), entries in groups.items():
        if result != Result.SUCCEEDED:
            yield Transition("Warning", _REASONS[Result(result)], _message(entries, server))
    good = [entry for entry in new if entry["result"] == Result.SUCCEEDED]
    if good:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(entry["name"] for entry in good))
        where = _where([entry["replica"] for entry in good])
        yield Transition(
            "Normal", _SUCCEEDED, f"succeeded in {where} ({good[0]['event']}): {names}"
        )


def _message(entries: Sequence[Mapping[str, Any]], server: str) -> str:
    entry = entries[0]
    seconds = entry.get("seconds")
    did = {
        Result.FAILED: f"failed with exit code {entry.get('exitCode')} after {seconds} s",
        Result.TIMED_OUT: f"did not end in time and was ended after {seconds} s",
        Result.UNKNOWN: "may not have ended: the pod was killed first",
    }[Result(entry["result"])]
    said = f": {output}" if (output := entry.get("output")) else ""
    where = _where([each["replica"] for each in entries])
    see = f"see `devctl describe {server}`"
    return f"hook `{entry['name']}` {did}, in {where} ({entry['event']}); {see}{said}"


def _where(replicas: Sequence[int]) -> str:
    """Replicas, for a sentence.

    >>> _where([0]), _where([0, 1]), _where([0, 1, 1, 2])
    ('replica 0', 'replica 0 and 1 other', 'replica 0 and 2 others')
    """
    first, *others = dict.fromkeys(replicas)
    more = f" and {len(others)} other{'s' if len(others) > 1 else ''}" if others else ""
    return f"replica {first}{more}"
