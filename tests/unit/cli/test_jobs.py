"""`devctl jobs`: both kinds of jobs in one place, against an API server in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from devctl.cli import names
from unit.client.fake_cluster import FakeApi, Thing, event
from unit.client.job_things import CLAIMS, JOBS, claim, job
from unit.client.objects import EVENTS, PODS
from unit.client.workload_things import KEY, WORKLOADS, attempt_pod, gpu_workload

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl

MESSAGE = "exit code 1: no CUDA; retry 2 of 3 at 2026-01-02T12:01:00Z"


@pytest.fixture
def both(api: FakeApi) -> FakeApi:
    """A job of each kind."""
    api.add(WORKLOADS, gpu_workload("llama", "Running", retryCount=1, attempt=2))
    api.add(JOBS, job("scan", "Succeeded", reason="Completed"))
    return api


def test_lists_both_kinds(both: FakeApi, devctl: Devctl) -> None:
    assert both
    found = [line.split() for line in devctl("jobs", "list").stdout.splitlines()]
    assert found == [
        ["NAME", "KIND", "PHASE", "REASON", "GPUS", "RETRIES", "AGE"],
        ["llama", "GPUWorkload", "Running", "2", "1", "15m"],
        ["scan", "EphemeralAccelerationJob", "Succeeded", "Completed", "1", "15m"],
    ]
    title, llama, scan = devctl("jobs", "list", "-o", "wide").stdout.splitlines()
    more = ["NODES", "NODE", "QUEUE", "PRIORITY", "OWNER", "IMAGE", "AGE"]
    assert title.split() == [*found[0][:-1], *more]
    own = {"NODE": "gpu-1", "PRIORITY": "normal", "OWNER": "alice@company.com", "IMAGE": "torch:1"}
    for name, value in own.items():
        assert llama[title.index(f"{name} ") :].startswith(f"{value} ")
    assert scan[title.index("IMAGE") :].startswith("gpu-job-inference:latest ")
    assert devctl("jobs", "list", "-o", "name").stdout.splitlines() == [
        "gpuworkload/llama",
        "ephemeralaccelerationjob/scan",
    ]


def facts(page: str) -> dict[str, str]:
    """What a page says by title; more lines of the same title after the first."""
    found: dict[str, str] = {}
    last = ""
    for line in page.partition("\n\n")[0].splitlines():
        title, colon, said = line.partition(":  ")
        if not line.startswith(" ") and colon:
            last, found[title] = title, said.strip()
        else:
            found[last] += f"\n{line.strip()}"
    return found


def test_the_kind_is_shown_only_if_there_are_both(both: FakeApi, devctl: Devctl) -> None:
    assert "KIND" in devctl("jobs", "list").stdout
    both.drop(JOBS, "scan")
    assert "KIND" not in devctl("jobs", "list").stdout


def test_a_document_holds_both_by_name(both: FakeApi, devctl: Devctl) -> None:
    both.add(WORKLOADS, gpu_workload("vision"))
    found = json.loads(devctl("jobs", "list", "-o", "json").stdout)
    told = [(item["kind"], item["metadata"]["name"]) for item in found["items"]]
    assert told == [
        ("GPUWorkload", "llama"),
        ("EphemeralAccelerationJob", "scan"),
        ("GPUWorkload", "vision"),
    ]


def test_a_cluster_of_an_earlier_release_has_one_kind(both: FakeApi, devctl: Devctl) -> None:
    both.refusals["GET", WORKLOADS] = (404, "404 page not found")
    assert devctl("jobs", "list", "-o", "name").stdout == "ephemeralaccelerationjob/scan\n"
    assert devctl("jobs", "describe", "scan", "-o", "name").code == 0
    both.refusals["GET", JOBS] = (404, "404 page not found")
    result = devctl("jobs", "list")
    assert result.code == 3
    assert "devctl may not be installed" in result.stderr


def test_who_has_the_role_of_one_kind_sees_that(both: FakeApi, devctl: Devctl) -> None:
    both.refusals["GET", JOBS] = (403, "forbidden")
    assert devctl("jobs", "list", "-o", "name").stdout == "gpuworkload/llama\n"
    assert devctl("jobs", "describe", "llama", "-o", "name").code == 0
    assert devctl("jobs", "describe", "scan").code == 3
    both.refusals["GET", WORKLOADS] = (403, "forbidden")
    for words in (("list",), ("describe", "llama")):
        result = devctl("jobs", *words)
        assert (result.code, "forbidden" in result.stderr) == (5, True)


def test_a_server_that_fails_is_no_lack_of_jobs(both: FakeApi, devctl: Devctl) -> None:
    both.refusals["GET", JOBS] = (500, "etcd is down")
    for words in (("list",), ("describe", "llama")):
        result = devctl("jobs", *words)
        assert (result.code, "etcd is down" in result.stderr) == (1, True)


def test_without_jobs_it_says_so(api: FakeApi, devctl: Devctl) -> None:
    assert api
    result = devctl("jobs", "list")
    assert (result.code, result.stdout) == (0, "")
    assert result.stderr == "no jobs in namespace `dev-alice`\n"


def test_the_page_of_a_gpu_workload(api: FakeApi, devctl: Devctl) -> None:
    considered = [
        {"node": "gpu-1", "score": 6, "reason": "6 free GPUs"},
        {"node": "cpu-1", "reason": "no node has 2 free GPUs"},
    ]
    spec = {
        "command": ["python3", "train.py"],
        "args": ["--name", "a b"],
        "volumes": [
            {"claimName": "models", "mountPath": "/models", "readOnly": True},
            {"claimName": "out", "mountPath": "/out", "readOnly": False},
        ],
    }
    waits = {"reason": "NonZeroExit", "message": MESSAGE, "nextRetryAt": "2026-01-02T12:01:00Z"}
    counted = {"attempt": 2, "retryCount": 2, "exitCode": 1, "considered": considered}
    api.add(WORKLOADS, gpu_workload("llama", "Pending", spec=spec, **waits, **counted))
    api.add(EVENTS, event("Job/llama-2"), event("Job/other-2"))
    page = devctl("jobs", "describe", "llama").stdout
    assert facts(page) == {
        "Name": "llama",
        "Namespace": "dev-alice",
        "Owner": "alice@company.com",
        "Phase": f"Pending (NonZeroExit)\n{MESSAGE}",
        "Attempt": "2",
        "Retries": "2 of 3, due in 60s (2026-01-02 12:01 UTC)",
        "Exit code": "1",
        "Model": "llama2",
        "GPUs": "2",
        "Priority": "normal",
        "Strategy": "leastLoaded",
        "Image": "torch:1",
        "Command": "python3 train.py --name 'a b'",
        "Volumes": "models at /models, read-only\nout at /out",
        "Age": "15m",
        "Use": "`devctl jobs logs -f llama`",
    }
    nodes, events = (
        [line.split() for line in part.splitlines()] for part in page.split("\n\n")[1:]
    )
    assert nodes[0] == ["Nodes", "considered:"]
    assert nodes[2] == ["gpu-1", "6", "6", "free", "GPUs"]
    assert nodes[3] == ["cpu-1", "no", "node", "has", "2", "free", "GPUs"]
    # Those of other jobs are left out.
    assert [line[3] for line in events[2:]] == ["job/llama-2"]


def test_the_page_of_several_pods(api: FakeApi, devctl: Devctl) -> None:
    nodes = {"assignedNodes": ["gpu-1", "gpu-2"]}
    api.add(WORKLOADS, gpu_workload("llama", "Running", spec={"nodes": 2}, **nodes))
    lines = [line.split(":", 1) for line in devctl("jobs", "describe", "llama").stdout.splitlines()]
    page = {line[0]: line[1].strip() for line in lines if len(line) > 1}
    assert page["GPUs"] == "4, 2 in each of 2 pods"
    assert page["Nodes"] == "gpu-1, gpu-2 (from rank 0)"


def test_the_page_of_one_that_has_ended(api: FakeApi, devctl: Devctl) -> None:
    ended = {"reason": "Completed", "message": "it succeeded", "exitCode": 0}
    api.add(WORKLOADS, gpu_workload("llama", "Succeeded", spec={"queueName": "gpus"}, **ended))
    found = facts(devctl("jobs", "describe", "llama").stdout)
    assert found["Phase"] == "Succeeded (Completed)\nit succeeded"
    assert (found["Queue"], found["Node"], found["Exit code"]) == ("gpus", "gpu-1", "0")
    assert found["Retries"] == "0 of 3"
    assert (found["Started"], found["Took"]) == ("10m ago (2026-01-02 11:50:00 UTC)", "60s")
    # Nothing of what it would use next, and no output that could still be followed.
    assert found["Use"] == "`devctl jobs logs llama`"


def test_the_page_of_an_ephemeral_job_is_egpus(both: FakeApi, devctl: Devctl) -> None:
    assert both
    result = devctl("jobs", "describe", "scan")
    assert "Files expire:" in result.stdout
    assert json.loads(devctl("jobs", "describe", "scan", "-o", "json").stdout)["kind"] == (
        "EphemeralAccelerationJob"
    )


def test_one_of_each_kind_is_told_apart_by_its_kind(both: FakeApi, devctl: Devctl) -> None:
    both.add(JOBS, job("llama", "Running"))
    result = devctl("jobs", "cancel", "llama")
    assert result.code == 2
    assert "write `gpuworkload/llama` or `eaj/llama`" in result.stderr
    for word, resource in (
        ("gw/llama", "gpuworkload"),
        ("GPUWorkload/llama", "gpuworkload"),
        ("ephemeralaccelerationjob/llama", "ephemeralaccelerationjob"),
    ):
        assert devctl("jobs", "describe", word, "-o", "name").stdout == f"{resource}/llama\n"
    assert "no kind of job" in devctl("jobs", "describe", "pod/llama").stderr


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("none", 3, "there is no job `none` in namespace `dev-alice`"),
        # Too long for one kind only.
        ("a" * 53, 3, "there is no job"),
        ("A", 2, "cannot be"),
    ],
)
def test_a_job_that_is_not_there(
    name: str, code: int, said: str, api: FakeApi, devctl: Devctl
) -> None:
    assert api
    for command in ("describe", "logs", "cancel", "retry", "delete"):
        result = devctl("jobs", command, name)
        assert (result.code, said in result.stderr) == (code, True)


def test_cancel_stops_a_workload_and_deletes_a_job(both: FakeApi, devctl: Devctl) -> None:
    both.add(JOBS, job("runs", "Running"))
    result = devctl("jobs", "cancel", "llama", "runs", "llama")
    assert result.stdout.splitlines() == [
        "gpuworkload/llama cancelled",
        "ephemeralaccelerationjob/runs cancelled and deleted",
    ]
    assert "`egpu artifacts runs --to results`" in result.stderr
    assert both.things[KEY]["spec"]["stopped"] is True
    assert both.names(JOBS) == ["scan"]


def test_cancel_leaves_alone_what_has_ended(both: FakeApi, devctl: Devctl) -> None:
    result = devctl("jobs", "cancel", "scan")
    assert (result.code, result.stdout) == (0, "")
    assert result.stderr == "`scan` has ended already (Succeeded)\n"
    assert both.names(JOBS) == ["scan"]


def test_nothing_is_cancelled_if_one_is_not_there(both: FakeApi, devctl: Devctl) -> None:
    assert devctl("jobs", "cancel", "llama", "none").code == 3
    assert both.things[KEY]["spec"]["stopped"] is False


def test_retry_says_what_starts(both: FakeApi, devctl: Devctl) -> None:
    stopped = {"stopped": True}
    both.add(WORKLOADS, gpu_workload("ended", "Failed"))
    both.add(WORKLOADS, gpu_workload("llama", "Pending", spec=stopped, reason="Stopped"))
    result = devctl("jobs", "retry", "ended", "llama")
    assert result.stdout.splitlines() == [
        "gpuworkload/ended-2 created",
        "gpuworkload/llama started again",
    ]
    assert result.stderr.splitlines() == [
        "next: `devctl jobs logs -f ended-2` follows it",
        "next: `devctl jobs logs -f llama` follows it",
    ]


def test_an_ephemeral_job_is_not_retried(both: FakeApi, devctl: Devctl) -> None:
    both.add(WORKLOADS, gpu_workload("ended", "Failed"))
    result = devctl("jobs", "retry", "ended", "scan")
    assert result.code == 2
    assert "`egpu delete scan` keeps its volume" in result.stderr
    assert "ended-2" not in both.names(WORKLOADS)


def test_delete_keeps_volumes(both: FakeApi, devctl: Devctl) -> None:
    both.add(CLAIMS, claim("scan"))
    result = devctl("jobs", "delete", "llama", "scan")
    assert result.stdout.splitlines() == [
        "gpuworkload/llama deleted",
        "ephemeralaccelerationjob/scan deleted",
    ]
    assert "`egpu delete scan --delete-pvc` removes it" in result.stderr
    assert both.names(WORKLOADS) + both.names(JOBS) == []
    assert both.names(CLAIMS) == ["artifacts-scan"]


def logs_of(api: FakeApi) -> None:
    api.add(PODS, attempt_pod(1, "one\n1", state="terminated"), attempt_pod(2, "two\n"))


def test_output_of_a_workload(both: FakeApi, devctl: Devctl) -> None:
    logs_of(both)
    assert devctl("jobs", "logs", "llama").stdout == "two\n"
    assert devctl("jobs", "logs", "llama", "--attempt", "1", "--tail", "1").stdout == "1"


@pytest.mark.parametrize("follow", [(), ("-f",)])
def test_output_of_several_pods_has_their_ranks(
    follow: tuple[str, ...], api: FakeApi, devctl: Devctl
) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Succeeded", spec={"nodes": 2}))
    api.add(PODS, attempt_pod(1, "a\nend", rank=0), attempt_pod(1, "b\n", rank=1))
    lines = devctl("jobs", "logs", *follow, "llama").stdout.splitlines()
    assert sorted(lines) == ["[0] a", "[0] end", "[1] b"]


def test_an_attempt_may_have_more_pods_than_the_next_one(api: FakeApi, devctl: Devctl) -> None:
    api.add(WORKLOADS, gpu_workload("llama", "Succeeded"))
    api.add(PODS, attempt_pod(1, "a", rank=0), attempt_pod(1, "b\n", rank=1))
    assert devctl("jobs", "logs", "llama").stdout == "a[1] b\n"


def test_who_follows_is_told_of_retries(both: FakeApi, devctl: Devctl) -> None:
    def becomes(phase: str, attempt: int) -> None:
        both.things[KEY]["status"] = gpu_workload("llama", phase, attempt=attempt)["status"]

    logs_of(both)
    becomes("Running", 1)
    both.then = [lambda: becomes("Running", 2), lambda: becomes("Succeeded", 2)]
    result = devctl("jobs", "logs", "-f", "llama")
    assert (result.code, result.stdout) == (0, "one\n1two\n")
    assert result.stderr == "attempt 2:\n"


def test_output_of_an_ephemeral_job(api: FakeApi, devctl: Devctl) -> None:
    pod: Thing = {"metadata": {"name": "ephemeralaccelerationjob-scan"}, "log": "done\n"}
    api.add(JOBS, job("scan", "Running"))
    api.add(PODS, pod)
    assert devctl("jobs", "logs", "scan").stdout == "done\n"
    result = devctl("jobs", "logs", "scan", "--attempt", "1")
    assert result.code == 2
    assert "has one attempt" in result.stderr


def test_names_of_both_kinds_are_completed(both: FakeApi) -> None:
    assert both
    context, option = click.Context(click.Command("logs")), click.Argument(["name"])
    assert names.every_job(context, option, "") == ["llama", "scan"]
    assert names.every_job(context, option, "ll") == ["llama"]
