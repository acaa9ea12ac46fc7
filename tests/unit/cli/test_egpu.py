"""The commands of `egpu`, against an API server in memory."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml
from click.testing import CliRunner

from devctl.cli.egpu import create, group, options
from devctl.cli.egpu.group import egpu as commands
from devctl.cli.egpu.show import facts
from devctl.cli.page import page
from devctl.client.events import Event
from devctl.client.jobs.job import Job
from devctl.kube.cluster import Cluster
from unit.cli.egpu_program import egpu
from unit.client.fake_cluster import FakeApi, Thing, ago, event
from unit.client.job_things import CLAIMS, JOBS, KEY, PODS, claim, job, suspended, user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syrupy.assertion import SnapshotAssertion

    from unit.cli.conftest import Tty
    from unit.cli.egpu_program import Egpu

__all__ = ["egpu"]
MESSAGE = "no node has enough free `nvidia.com/gpu`; wait until others stop"


@pytest.mark.parametrize("module", [create, options])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", ["", *commands.list_commands(click.Context(commands))])
def test_help(name: str, snapshot: SnapshotAssertion) -> None:
    words = [*name.split(), "--help"]
    result = CliRunner().invoke(commands, words, prog_name="egpu", terminal_width=80)
    assert result.exit_code == 0
    assert result.output == snapshot
    assert max(map(len, result.output.splitlines())) <= 80
    assert "Examples:\n" in result.output


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("-n team list", (None, None, "team", None)),
        ("--kubeconfig a --context b list -n other", ("a", "b", "other", None)),
        ("--request-timeout 90s list -n other", (None, None, "other", 90)),
        ("list --request-timeout 0 -n other", (None, None, "other", 0)),
    ],
)
def test_a_place_may_stand_before_the_command(
    line: str, asked: tuple[Any, ...], api: FakeApi, egpu: Egpu, monkeypatch: Any
) -> None:
    seen: list[Any] = []

    def connect(*given: Any) -> Any:
        seen.append(given)
        return api.connect()

    monkeypatch.setattr(Cluster, "connect", connect)
    assert egpu(*line.split()).code == 0
    assert seen == [asked]


def test_help_needs_no_library_that_takes_time() -> None:
    heavy = "{'websockets', 'httpx2', 'httpcore2', 'msgspec', 'ssl', 'yaml', 'devctl.kube'}"
    lines = (
        "import click, sys",
        "from devctl.cli.egpu.group import egpu",
        "context = click.Context(egpu)",
        "found = [egpu.get_command(context, name) for name in egpu.list_commands(context)]",
        f"print(sorted(sys.modules.keys() & {heavy}), all(found))",
    )
    program = [sys.executable, "-c", "\n".join(lines)]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == "[] True\n"


@pytest.mark.parametrize("how", ["client", "server"])
def test_a_dry_run_shows_and_makes_nothing(how: str, api: FakeApi, egpu: Egpu) -> None:
    line = ["create", "my-job", "--gpu", "0", "--ttl", "10m", f"--dry-run={how}"]
    line += ["--command", "sh -c 'echo $(id)'"]
    made = yaml.safe_load(egpu(*line, "-o", "yaml").stdout)
    assert made["spec"]["resources"] == {"gpu": 0}
    assert made["spec"]["ttlSecondsAfterFinished"] == 600
    assert made["spec"]["command"] == ["sh", "-c", "echo $(id)"]
    assert "dry run)" in egpu(*line).stdout
    assert egpu(*line, "-o", "name").stdout == "ephemeralaccelerationjob/my-job\n"
    assert api.names(JOBS) == []


def test_create_that_waits_ends_as_the_job_does(api: FakeApi, egpu: Egpu) -> None:
    def ends() -> None:
        api.things[KEY]["status"] = job("my-job", "Succeeded")["status"]

    api.then = [ends]
    found = egpu("create", "my-job", "--wait")
    assert found.code == 0
    assert found.stdout.splitlines() == [
        "ephemeralaccelerationjob/my-job created",
        "ephemeralaccelerationjob/my-job succeeded",
    ]


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "name"])
def test_lists(output: str, api: FakeApi, egpu: Egpu, snapshot: SnapshotAssertion) -> None:
    api.add(JOBS, job("sample", "Succeeded", artifactPath="/artifacts/output.json"))
    api.add(JOBS, job("waits", "Pending", reason="Unschedulable", message=MESSAGE))
    assert egpu("list", "-o", output).stdout == snapshot


def newer() -> Thing:
    """A job as a newer release could have it."""
    thing = job("my-job", "Checkpointing", reason="LowCarbon", message="until it is windy")
    thing["status"] |= {"startedAt": "some day", "finishedAt": "never", "conditions": [{"odd": 1}]}
    thing["spec"] |= {"resources": {"gpu": "half"}, "colour": "green"}
    return thing


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("list -o wide", "Checkpointing"),
        ("list -o yaml", "colour: green"),
        ("get my-job", "Phase:        Checkpointing (LowCarbon)\n"),
        ("get my-job -o json", '"Checkpointing"'),
    ],
)
def test_what_a_newer_release_says_is_shown_as_it_is(
    line: str, said: str, api: FakeApi, egpu: Egpu
) -> None:
    api.add(JOBS, newer())
    api.add("events", {**event("EphemeralAccelerationJob/my-job"), "type": "Delightful"})
    found = egpu(*line.split())
    assert (found.code, found.stderr) == (0, "")
    assert said in found.stdout


def test_a_phase_of_a_newer_release_ends_no_wait(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, newer())
    ended = job("my-job", "Succeeded")["status"]
    api.then.append(lambda: api.things[KEY].update(status=ended))
    found = egpu("watch", "my-job")
    assert (found.code, found.stdout) == (0, "ephemeralaccelerationjob/my-job succeeded\n")
    assert "my-job: Checkpointing (LowCarbon): until it is windy" in found.stderr


def test_an_empty_list_says_what_to_do(egpu: Egpu) -> None:
    found = egpu("list", "-n", "team")
    assert (found.code, found.stdout) == (0, "")
    assert found.stderr == "no jobs in namespace `team`; create one with `egpu create JOB`\n"


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Succeeded", "Failed"])
def test_the_page_of_a_job(phase: str, snapshot: SnapshotAssertion) -> None:
    status: dict[str, Any] = {}
    if phase:
        status = {"reason": "Unschedulable", "message": f"{MESSAGE}\n\x1b[31m"}
    if phase == "Succeeded":
        status |= {"artifactPath": "/artifacts/output.json", "podExpiresAt": ago(minutes=9)}
    if phase == "Failed":
        status |= {"exitCode": 137, "reason": "OutOfMemory"}
    made = Job(job("my-job", phase, **status)) if phase else Job(suspended())
    events = [Event(event("EphemeralAccelerationJob/my-job", "Started"))]
    with click.Context(click.Command("get"), info_name="get"):
        for width in (0, 50):
            lines = page(facts(made), events, width)
            assert "\n".join(lines) == snapshot
            assert not width or max(map(len, lines)) <= width


def test_get(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Succeeded", artifactPath="/artifacts/output.json"))
    found = egpu("get", "my-job")
    assert "/artifacts/output.json" in found.stdout
    assert "\x1b" not in found.stdout
    assert json.loads(egpu("get", "my-job", "-o", "json").stdout)["kind"].startswith("Ephemeral")
    api.refusals["GET", "events"] = (403, "no")
    assert egpu("get", "my-job").code == 0


def test_watch_ends_as_the_job_does(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Pending", reason="Unschedulable", message=MESSAGE))

    def ends() -> None:
        api.things[KEY]["status"] = job(
            "my-job", "Failed", reason="OutOfMemory", message="it used more than 1Gi"
        )["status"]

    api.then = [ends]
    found = egpu("watch", "my-job")
    assert (found.code, found.stdout) == (1, "")
    assert found.stderr.splitlines() == [
        "my-job: no news yet",
        f"my-job: Pending (Unschedulable): {MESSAGE}",
        "error: job `my-job` has failed: OutOfMemory: it used more than 1Gi",
        "  fix: see its output with `egpu logs my-job`, its files with `egpu artifacts my-job`",
    ]
    api.add(JOBS, job("good", "Succeeded", artifactPath="/artifacts/output.json"))
    found = egpu("watch", "good")
    assert (found.code, found.stdout) == (0, "ephemeralaccelerationjob/good succeeded\n")
    assert "its result is /artifacts/output.json; its files expire " in found.stderr


def test_what_was_said_of_an_earlier_wish_is_not_shown(api: FakeApi, egpu: Egpu) -> None:
    let_go = job("my-job", "Pending", reason="Suspended", message="it waits", observedGeneration=1)
    let_go["metadata"]["generation"] = 2
    api.add(JOBS, let_go)

    def ends() -> None:
        api.things[KEY]["status"] = job("my-job", "Succeeded")["status"]

    api.then = [ends]
    assert "Suspended" not in egpu("watch", "my-job").stderr


def test_a_watch_that_takes_too_long(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Running"))
    found = egpu("watch", "my-job", "--timeout", "1s")
    assert found.code == 4
    assert "error: `my-job` has not ended after 1 s (Running)" in found.stderr


def test_logs(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Running"))
    api.add(PODS, user("ephemeralaccelerationjob-my-job") | {"log": "one\ntwo\n"})
    assert egpu("logs", "my-job").stdout == "one\ntwo\n"


def test_logs_on_a_terminal(api: FakeApi, egpu: Egpu, tty: Callable[[], Tty]) -> None:
    said = "\x1b[32mgreen\x1b[m\x1b]52;c;bHMK\x07\x1b[2J\n"
    api.add(JOBS, job("my-job", "Running"))
    api.add(PODS, user("ephemeralaccelerationjob-my-job") | {"log": said})
    assert egpu("logs", "my-job").stdout == said
    screen = tty()
    egpu("logs", "my-job")
    assert screen.written() == b"\x1b[32mgreen\x1b[m\n"


def test_delete_keeps_the_volume_and_says_until_when(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Running"))
    api.add(CLAIMS, claim())
    found = egpu("delete", "my-job")
    assert (found.code, found.stdout) == (0, "ephemeralaccelerationjob/my-job deleted\n")
    first, *rest = found.stderr.splitlines()
    assert first.startswith("its volume artifacts-my-job (1Gi) is kept; it expires ")
    assert rest == [
        "  `egpu artifacts my-job --to results` downloads its files",
        "  `egpu delete my-job --delete-pvc` removes it now",
    ]
    assert api.names(CLAIMS) == ["artifacts-my-job"]
    found = egpu("delete", "my-job", "--delete-pvc")
    assert (found.code, found.stdout) == (0, "persistentvolumeclaim/artifacts-my-job deleted\n")
    assert egpu("delete", "my-job", "--delete-pvc").code == 3


def test_delete_with_the_volume_waits_for_the_pod(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Running"))
    api.add(CLAIMS, claim())
    api.add(PODS, user("ephemeralaccelerationjob-my-job"))
    found = egpu("delete", "my-job", "--delete-pvc", "--timeout", "0s")
    assert found.code == 4
    assert api.names(CLAIMS) == ["artifacts-my-job"]
    api.drop(PODS, "ephemeralaccelerationjob-my-job")
    assert egpu("delete", "my-job", "--delete-pvc").code == 0
    assert api.names(CLAIMS) == []


def test_delete_with_the_volume_asks_a_person_for_the_name(
    api: FakeApi, egpu: Egpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add(JOBS, job("my-job", "Running"))
    api.add(CLAIMS, claim())
    monkeypatch.setattr("devctl.cli.egpu.delete.somebody_is_here", lambda: True)
    monkeypatch.setattr("devctl.cli.confirm.somebody_is_here", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_text, **_how: "my-jo")
    found = egpu("delete", "my-job", "--delete-pvc")
    assert found.code == 2
    assert "this deletes my-job and all files in artifacts-my-job" in found.stderr
    assert api.names(CLAIMS) == ["artifacts-my-job"]
    found = egpu("delete", "my-job", "--delete-pvc", "--yes", "-o", "name")
    assert found.stdout.splitlines() == [
        "ephemeralaccelerationjob/my-job",
        "persistentvolumeclaim/artifacts-my-job",
    ]
    assert found.stderr == "my-job: shutting down\n"


def test_delete_leaves_a_foreign_volume_alone(api: FakeApi, egpu: Egpu) -> None:
    api.add(JOBS, job("my-job", "Running"))
    api.add(CLAIMS, claim(ours=False))
    found = egpu("delete", "my-job", "--delete-pvc")
    assert found.code == 1
    assert "was not made for job `my-job` and is left alone" in found.stderr
    assert (api.names(JOBS), api.names(CLAIMS)) == (["my-job"], ["artifacts-my-job"])


def test_cleanup_goes_on_after_a_volume_that_is_another_persons(api: FakeApi, egpu: Egpu) -> None:
    past = ago(hours=3)
    for name in ("one", "two"):
        api.add(CLAIMS, claim(name, finished_at=past))
    api.refusals["DELETE", CLAIMS] = (403, "it belongs to `alice`")
    found = egpu("cleanup")
    assert (found.code, found.stdout) == (0, "")
    for name in ("one", "two"):
        assert f"artifacts-{name} is kept: " in found.stderr
    assert found.stderr.count("it belongs to `alice`") == 2


def test_cleanup(api: FakeApi, egpu: Egpu) -> None:
    past = ago(hours=3)
    api.add(CLAIMS, claim("gone", finished_at=past), claim("used", finished_at=past))
    api.add(CLAIMS, claim("goes-on", finished_at=past), claim("odd"))
    api.add(JOBS, job("goes-on", "Running"))
    api.add(PODS, user(of="used"))
    found = egpu("cleanup", "--dry-run")
    assert found.stdout == "persistentvolumeclaim/artifacts-gone deleted (dry run)\n"
    assert len(api.names(CLAIMS)) == 4
    found = egpu("cleanup")
    assert found.stdout == "persistentvolumeclaim/artifacts-gone deleted\n"
    assert found.stderr.splitlines() == [
        "artifacts-goes-on is kept: its job has not ended",
        "artifacts-odd is kept: its expiry is unknown",
        "artifacts-used is kept: pod reader uses it",
    ]
    assert "artifacts-gone" not in api.names(CLAIMS)
    assert egpu("cleanup").stderr.endswith("nothing to clean up\n")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("create Box", 2, "`Box` cannot be a job's name"),
        ("create box", 1, "there is a job `box` already (Running)"),
        ("create box --project-dir .", 1, "there is a job `box` already (Running)"),
        ("create lab --command '", 2, "--command cannot be read"),
        ("create lab --command ''", 2, "--command is empty"),
        ("get lab", 3, "there is no job `lab`"),
        ("watch lab", 3, "there is no job `lab`"),
        ("logs lab", 3, "there is no job `lab`"),
        ("logs box", 3, "the pod of job `box` is gone"),
        ("delete box lab", 3, "there is no job `lab`"),
        ("artifacts lab", 3, "job `lab` has no volume"),
        ("debug lab", 3, "job `lab` has no volume"),
        ("artifacts box", 2, "no image is named"),
        ("copy-file box http://user@host/", 2, "contains a name or a password"),
        ("dele box", 2, "there is no command `egpu dele`"),
    ],
)
def test_errors_are_two_lines_and_change_nothing(  # noqa: PLR0913, PLR0917 - a case is several
    line: str, code: int, said: str, api: FakeApi, egpu: Egpu, tmp_path: Path
) -> None:
    api.add(JOBS, job("box", "Running"))
    api.add(CLAIMS, claim("box"))
    words = [str(tmp_path) if word == "." else word for word in line.split(" ")]
    found = egpu(*("" if word == "''" else word for word in words))
    assert (found.code, found.stdout) == (code, "")
    error, fix = found.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert fix.startswith("  fix: ")
    assert not [r for r in api.requests if r.split()[0] in {"PATCH", "DELETE"}]
    assert (api.names(JOBS), api.names(CLAIMS)) == (["box"], ["artifacts-box"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_asks_egpu(shell: str) -> None:
    result = CliRunner().invoke(commands, ["completion", shell])
    assert result.exit_code == 0
    assert f"_EGPU_COMPLETE={shell}_complete" in result.stdout


def test_a_program_that_is_ended_ends_in_order() -> None:
    with pytest.raises(SystemExit) as raised:
        group._end(15, None)  # noqa: SLF001
    assert raised.value.code == 143
