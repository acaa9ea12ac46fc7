"""The warm runner against the stock one: driven as ansible-operator does, without a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.runs import NOT_WARM, OF_THE_CHECKOUT, EventServer, Operator, operator_python

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERYTHING = """
- name: Say
  ansible.builtin.debug:
    msg: "{{ value }} {{ lookup('env', 'KUBECONFIG') | basename }}"
- name: Fail and go on
  ansible.builtin.fail:
    msg: ignored
  ignore_errors: true
- name: Block
  block:
    - name: Fail and be rescued
      ansible.builtin.fail:
        msg: rescued
  rescue:
    - name: Rescue
      ansible.builtin.command: echo hello
- name: Loop
  ansible.builtin.debug:
    msg: "{{ item }}"
  loop: [1, 2]
- name: Skip
  ansible.builtin.debug:
  when: false
- name: Hide
  ansible.builtin.debug:
    msg: secret
  no_log: true
- name: Fail
  ansible.builtin.fail:
    msg: "no {{ value }}"
"""
HANG = "- name: Hang\n  ansible.builtin.command: sleep {}\n"
PATIENCE = 60
"""Seconds to wait for what takes a moment; what hangs does so for longer."""
NAP = "- name: Nap\n  ansible.builtin.command: sleep 0.3\n"


@pytest.fixture(scope="session")
def python() -> Path:
    return operator_python()


@pytest.fixture
def operator(python: Path, tmp_path: Path) -> Iterator[Operator]:
    found = Operator(tmp_path, python)
    yield found
    found.stop()


def role(operator: Operator, name: str, tasks: str) -> Path:
    folder = operator.folder / "roles" / name
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    (folder / "tasks/main.yml").write_text(tasks)
    return folder


def unsafe(value: object) -> object:
    """What the operator's markUnsafe makes of a value."""
    if isinstance(value, dict):
        return {key: unsafe(inner) for key, inner in value.items()}
    return {"__ansible_unsafe": value} if isinstance(value, str) else value


def devserver(**fields: object) -> dict[str, Any]:
    spec = {"owner": "alice", "mode": "standalone", "flavor": "small"} | fields
    metadata = {"name": "small", "namespace": "default", "uid": "u1", "generation": 1}
    whole = {"apiVersion": "devops.yourcompany.com/v1", "kind": "DevServer", "metadata": metadata}
    whole["spec"] = spec
    return {
        "ansible_operator_meta": {"name": "small", "namespace": "default"},
        "_devops_yourcompany_com_devserver": unsafe(whole),
        "_devops_yourcompany_com_devserver_spec": unsafe(spec),
    }


def alive(argument: str) -> bool:
    """Whether a process runs that has an argument."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument.encode() in path.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def unique_seconds() -> str:
    """A time to sleep that no other process sleeps for."""
    return f"300.{uuid4().int % 10**12:012}"


def await_process(argument: str) -> None:
    """Wait until a process runs that has an argument."""
    deadline = time.monotonic() + PATIENCE
    while not alive(argument):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_both_runners_post_the_same_events(operator: Operator) -> None:
    everything = role(operator, "everything", EVERYTHING)
    operator.start(everything)

    for variables in ({"value": unsafe("{{ 1 + 1 }}")}, {}):
        stock = operator.run("stock", everything, variables)
        warm = operator.run("warm", everything, variables)

        assert warm.shape() == stock.shape()
        assert [sorted(e["event_data"]) for e in warm.events] == [
            sorted(e["event_data"]) for e in stock.events
        ]
        assert (warm.status != 0) == (stock.status != 0)
        assert [e["counter"] for e in warm.events] == list(range(1, len(warm.events) + 1))
    figures = operator.metrics()
    assert not any(figures[name] for name in figures if name.startswith("fallbacks_total"))
    assert figures["warm"] == 1


@pytest.mark.parametrize("kind", ["stock", "warm"])
def test_a_marked_value_is_text_and_an_unmarked_one_a_template(
    operator: Operator, kind: str
) -> None:
    names = ("marked", "nested", "unmarked")
    tasks = (f'- ansible.builtin.debug:\n    msg: "{{{{ {name} }}}}"\n' for name in names)
    say = role(operator, "say", "".join(tasks))
    if kind == "warm":
        operator.start(say)
    attack = "{{ lookup('pipe', 'id') }}"

    nested = unsafe({"a": {"b": attack}})
    values = {"marked": unsafe(attack), "nested": nested, "unmarked": attack, "b": 1}
    said = operator.run(kind, say, values).messages("runner_on_ok")

    assert said[:2] == [attack, {"a": {"b": attack}}]
    assert said[2].startswith("uid=")


def test_the_real_role_is_warm_and_inert(operator: Operator) -> None:
    operator.settings = OF_THE_CHECKOUT
    real = REPOSITORY / "roles/devserver"
    operator.start(real)
    # There is no cluster to apply to; but no template in a user's string is evaluated on the way.
    variables = devserver(owner="{{ lookup('pipe', 'echo evaluated') }}")

    stock = operator.run("stock", real, variables)
    warm = operator.run("warm", real, variables)

    assert warm.shape()[-2:] == stock.shape()[-2:]
    assert warm.events[-1]["event"] == "playbook_on_stats"
    for result in (stock, warm):
        failed = result.messages("runner_on_failed")
        assert len(failed) == 1
        assert "none.invalid" in failed[0] or "kubeconfig" in failed[0]
        assert "evaluated" not in json.dumps(result.events).replace("echo evaluated", "")


def test_runs_that_leave_nothing_share_a_process(operator: Operator) -> None:
    operator.settings = {"DEVCTL_RUNNER_IN_PROCESS": "ansible.builtin.debug"}
    message = "{{ value | default('none') }}"
    say = role(operator, "say", f'- ansible.builtin.debug:\n    msg: "{message}"\n')
    know = role(operator, "know", "- ansible.builtin.set_fact:\n    value: known\n")
    operator.start(say, know)

    # One object, so that all of these have the same folder.
    same = [operator.run("warm", say, variables) for variables in ({"value": 1}, {"value": 2}, {})]
    stock = operator.run("stock", say, {"value": 2})
    knows = operator.run("warm", know)
    afterwards = operator.run("warm", say)

    assert [one.messages("runner_on_ok") for one in same] == [[1], [2], ["none"]]
    assert same[1].shape() == stock.shape()
    assert len({event["pid"] for one in same for event in one.events}) == 1
    # Any other task may have done something to its process, which is then nobody else's.
    assert afterwards.messages("runner_on_ok") == ["none"]
    assert afterwards.events[0]["pid"] != knows.events[0]["pid"]


def test_a_playbook_runs_too(operator: Operator) -> None:
    playbook = operator.folder / "book.yml"
    playbook.write_text(
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n"
        "    - name: Say\n      ansible.builtin.debug:\n        msg: '{{ value }}'\n"
    )
    operator.start()

    stock = operator.run("stock", playbook, {"value": 1})
    warm = operator.run("warm", playbook, {"value": 1})

    assert warm.shape() == stock.shape()
    assert warm.messages("runner_on_ok") == [1]


def test_a_run_that_takes_too_long_fails_and_leaves_nothing(operator: Operator) -> None:
    seconds = unique_seconds()
    operator.settings = {"DEVCTL_RUNNER_TIMEOUT": "1.5"}
    hang = role(operator, "hang", HANG.format(seconds))
    operator.start(hang)

    result = operator.run("warm", hang)

    (message,) = result.messages("runner_on_failed")
    assert "took longer than 1.5 s" in message
    assert result.events[-1]["event"] == "playbook_on_stats"
    assert message in (operator.folder / "runs/a/artifacts/1/stdout").read_text()
    assert not alive(seconds)
    assert operator.metrics()['runs_total{result="timeout",role="hang"}'] == 1


def test_a_killed_run_is_reported(operator: Operator) -> None:
    seconds = unique_seconds()
    hang = role(operator, "hang", HANG.format(seconds))
    operator.start(hang)
    assert operator.daemon
    children = Path(f"/proc/{operator.daemon.pid}/task/{operator.daemon.pid}/children")

    with ThreadPoolExecutor() as pool:
        future = pool.submit(operator.run, "warm", hang)
        await_process(seconds)
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        result = future.result(timeout=PATIENCE)

    (message,) = result.messages("runner_on_failed")
    assert "signal 9" in message
    assert result.events[-1]["event"] == "playbook_on_stats"


def test_a_run_ends_with_its_client(operator: Operator) -> None:
    seconds = unique_seconds()
    hang = role(operator, "hang", HANG.format(seconds))
    operator.start(hang)
    with EventServer(operator.socket("a", "1")):
        folder = operator.write("a", "1", {})
        command = operator.command("warm", hang, folder, "1")
        with subprocess.Popen(command, env=operator.environment) as client:
            await_process(seconds)
            client.kill()

    deadline = time.monotonic() + PATIENCE
    while alive(seconds) or operator.metrics()["running"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert operator.metrics()['runs_total{result="cancelled",role="hang"}'] == 1


def test_runs_over_the_limit_wait_for_others(operator: Operator) -> None:
    operator.settings = {"DEVCTL_RUNNER_MAX_RUNS": "1"}
    nap = role(operator, "nap", NAP)
    operator.start(nap)

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda n: operator.run("warm", nap, name=n), ["a", "b", "c"]))

    assert [result.status for result in results] == [0, 0, 0]
    times = sorted((one.events[0]["created"], one.events[-1]["created"]) for one in results)
    assert all(end <= start for (_, end), (start, _) in pairwise(times)), "one after the other"
    figures = operator.metrics()
    assert figures['runs_total{result="ok",role="nap"}'] == 3
    assert figures["queue_seconds_count"] == 3
    assert figures["running"] == figures["queue"] == 0


def test_a_changed_role_is_read_anew(operator: Operator) -> None:
    tasks = "- ansible.builtin.debug:\n    msg: {}\n"
    say = role(operator, "say", tasks.format("before"))
    operator.start(say)
    assert operator.run("warm", say).messages("runner_on_ok") == ["before"]

    role(operator, "say", tasks.format("afterwards"))
    operator.await_log("warm after", times=2)

    assert operator.run("warm", say).messages("runner_on_ok") == ["afterwards"]
    figures = operator.metrics()
    assert figures["warm_ups_total"] == 2
    assert figures['runs_total{result="ok",role="say"}'] == 2


def test_the_stock_runner_takes_what_the_daemon_cannot(operator: Operator) -> None:
    say = role(operator, "say", "- ansible.builtin.debug:\n    msg: hello\n")
    # Down: this run goes to the stock runner, and a daemon starts for later ones.
    assert operator.run("warm", say).messages("runner_on_ok") == ["hello"]
    deadline = time.monotonic() + PATIENCE
    while "1" not in operator_runs(operator, say):
        assert time.monotonic() < deadline
    folder = operator.write("c", "1", {})
    (folder / "env/cmdline").write_text("--check")

    assert operator.run("warm", say, name="c").messages("runner_on_ok") == ["hello"]
    figures = operator.metrics()
    assert figures['fallbacks_total{reason="down"}'] >= 1
    assert figures['fallbacks_total{reason="cmdline"}'] == 1


def operator_runs(operator: Operator, say: Path) -> str:
    """How many runs the daemon has done, after one more."""
    operator.run("warm", say)
    try:
        return str(int(operator.metrics().get('runs_total{result="ok",role="say"}', 0)))
    except OSError:
        return ""


LACKS_RUN = """
import sys

if "devctl_runner.daemon" in sys.orig_argv:
    from ansible.executor.process.worker import WorkerProcess

    del WorkerProcess._run
"""


@pytest.mark.parametrize(
    ("files", "settings", "why"),
    [
        (
            {"sitecustomize.py": LACKS_RUN},
            {},
            " has no `ansible.executor.process.worker.WorkerProcess._run`",
        ),
        ({}, {"DEVCTL_RUNNER_PRELOAD": "none_such"}, "No module named 'none_such'"),
    ],
)
def test_an_ansible_that_does_not_fit_leaves_all_runs_to_the_stock_runner(
    operator: Operator, files: dict[str, str], settings: dict[str, str], why: str
) -> None:
    for name, text in files.items():
        (operator.folder / name).write_text(text)
    operator.settings = settings | {"PYTHONPATH": str(operator.folder)}
    say = role(operator, "say", "- ansible.builtin.debug:\n    msg: hello\n")
    operator.start(say, until=NOT_WARM)

    assert operator.run("warm", say).messages("runner_on_ok") == ["hello"]

    assert why in operator.log()
    figures = operator.metrics()
    assert figures["warm"] == 0
    assert figures['fallbacks_total{reason="incompatible"}'] == 1
    assert figures["warm_ups_total"] == 0


def test_old_artifacts_go(operator: Operator) -> None:
    say = role(operator, "say", "- ansible.builtin.debug:\n    msg: hello\n")
    operator.start(say)

    for ident in "12345":
        result = operator.run("warm", say, ident=ident)
        assert result.status == 0
        latest = operator.folder / "runs/a/artifacts/latest"
        latest.unlink(missing_ok=True)
        latest.symlink_to(ident)

    found = sorted(path.name for path in latest.parent.iterdir())
    assert found == ["3", "4", "5", "latest"]
    assert "hello" in (latest / "stdout").read_text()
    assert list((operator.folder / "runs/a/project").iterdir()) == []
