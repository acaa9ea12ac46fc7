"""What operator, runner and observer count: names, values, and who may read them."""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from support.jobs import WAITS, Job
from support.plane.plane import SYSTEM
from support.servers import DevServer, small_server, succeeds, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

OPERATOR = "https://127.0.0.1:8443/metrics"
OBSERVER_NAMES = {
    *("pods", "placed_pods", "jobs", "status_writes_total", "looks_total"),
    *("wakes_total", "claims_deleted_total", "leader", "objects", "queue", "writes_total"),
    *("queue_age_seconds", "devserver_stops_total", "process_start_time_seconds"),
    *("process_cpu_seconds_total", "process_max_fds", "process_open_fds"),
    *("process_resident_memory_bytes", "process_virtual_memory_bytes"),
    *("idle_verdicts", "idle_verdict_age_seconds"),
    *("node_agent_report_age_seconds", "node_agents_missing", "gpuworkloads"),
    "devctl_budgets_over",
}
WITH_THE_FIRST = {
    *("devservers", "devserver_waiting_seconds", "devserver_restarts_total"),
    *("devserver_gpus", "idle_servers", "idle_gpus", "vllmruns", "vllmruns_saved_seconds_total"),
    "gpuworkerjobs",
    *(f"devctl_usage_{of}_seconds_total" for of in ("pod", "gpu", "idle")),
    *(f"warp_gpuworkload_{of}_total" for of in ("scheduled", "failed", "retries")),
    *(f"warp_gpuworkload_reconcile_duration_seconds_{kind}" for kind in ("bucket", "count", "sum")),
    *(
        f"devserver_{of}_duration_seconds_{kind}"
        for of in ("start", "queue")
        for kind in ("bucket", "count", "sum")
    ),
}
"""Names that appear with the first object that they are about."""
TOTALS = [
    'writes_total{result="ok"}',
    *(
        f'{of}{{kind="{kind}"}}'
        for of in ("status_writes_total", "looks_total")
        for kind in ("devserver", "job")
    ),
]
RUNNER_NAMES = {
    *("runs_total", "run_seconds_bucket", "run_seconds_sum", "run_seconds_count"),
    *("warm", "warm_ups_total", "warm_up_seconds", "queue", "running", "max_runs"),
    *("resident_bytes", "fallbacks_total"),
    *("queue_seconds_bucket", "queue_seconds_sum", "queue_seconds_count"),
}
RECONCILED = 'controller_runtime_reconcile_total{controller="devserver-v1-controller"'


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def names(figures: Mapping[str, float]) -> set[str]:
    """The names of figures, without their labels."""
    return {name.partition("{")[0] for name in figures}


def fallen(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """The counters that have gone back, which only a restart may do; those of objects may go."""
    counters = re.compile(r"\w+_(total|count|sum|bucket)(\{.*)?")
    known = before.keys() & after.keys()
    return [name for name in known if counters.fullmatch(name) and after[name] < before[name]]


def torn(figures: Mapping[str, float]) -> list[str]:
    """The histograms whose last bucket does not hold everything that they have counted."""
    last = r'le="\+Inf",|,?le="\+Inf"'
    ends = {
        re.sub(last, "", name).replace("_bucket", "_count", 1).removesuffix("{}"): value
        for name, value in figures.items()
        if re.search(last, name)
    }
    return [name for name, value in ends.items() if figures.get(name) != value]


def ask(token: str = "") -> tuple[int, str]:
    """The operator's answer to whoever has a token: its code, and its figures."""
    request = urllib.request.Request(OPERATOR)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    # Its certificate is its own.
    context = ssl._create_unverified_context()  # noqa: S323, SLF001
    try:
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


@pytest.fixture
def reader(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """The token of an account that may read metrics."""
    kubectl("create", "serviceaccount", "reader", "-n", namespace)
    options = ("--clusterrole=devctl-metrics-reader", f"--serviceaccount={namespace}:reader")
    kubectl("create", "clusterrolebinding", namespace, *options)
    # The operator remembers for a while what the API server has denied.
    ask = ("auth", "can-i", "get", "/metrics", f"--as=system:serviceaccount:{namespace}:reader")
    wait_until(lambda: succeeds(lambda: kubectl(*ask)), "it may")
    yield kubectl("create", "token", "reader", "-n", namespace).strip()
    kubectl.api.delete("clusterrolebinding", namespace)


def test_only_readers_get_metrics(kubectl: Kubectl, namespace: str, reader: str) -> None:
    kubectl("create", "serviceaccount", "stranger", "-n", namespace)
    stranger = kubectl("create", "token", "stranger", "-n", namespace).strip()
    assert (ask()[0], ask(stranger)[0], ask(reader)[0]) == (401, 403, 200)


def test_the_operator_counts_what_it_reconciles(server: DevServer, reader: str) -> None:
    def reconciled() -> float:
        lines = ask(reader)[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(RECONCILED))

    before = reconciled()
    server.apply(stopped=True)
    server.wait("Applied")
    wait_until(lambda: reconciled() > before, "it is counted")


def test_the_operator_serves_the_metrics_that_rules_use(reader: str) -> None:
    served = {line.partition("{")[0].partition(" ")[0] for line in ask(reader)[1].splitlines()}
    assert {"process_start_time_seconds", "rest_client_requests_total"} <= served


def test_the_runner_counts_its_runs(server: DevServer, plane: Plane) -> None:
    ok, failed = (
        f'runs_total{{result="{result}",role="devserver"}}' for result in ("ok", "failed")
    )
    before = plane.operator.runs()
    server.apply(stopped=True)
    server.wait("Applied")
    wait_until(lambda: plane.operator.runs().get(ok, 0) > before.get(ok, 0), "it is counted")
    lost = DevServer(server.kubectl, server.namespace, server.spec, "lost")
    lost.apply(flavor="none")
    lost.wait("Applied", "False")
    wait_until(lambda: plane.operator.runs().get(failed, 0) > before.get(failed, 0), "so is this")
    figures = plane.operator.runs()
    assert names(figures) == RUNNER_NAMES
    counted = sum(
        v for k, v in figures.items() if k.startswith("runs_total{") and 'role="devserver"' in k
    )
    assert figures['run_seconds_count{role="devserver"}'] == counted
    assert figures['run_seconds_bucket{le="+Inf",role="devserver"}'] == counted
    assert figures["warm_ups_total"] == figures["warm"] == 1
    assert figures["resident_bytes"] > 10 << 20
    assert not any(server.namespace in name for name in figures), "names of objects are nobody's"


def test_the_observer_counts_what_there_is_and_what_it_did(
    server: DevServer, plane: Plane, images: dict[str, Image]
) -> None:
    def now(name: str) -> float:
        return plane.observer.figures().get(name, 0)

    def own(phase: str) -> str:
        space = server.namespace
        return f'devservers{{flavor="{space}",namespace="{space}",phase="{phase}"}}'

    assert names(plane.observer.figures()) - WITH_THE_FIRST == OBSERVER_NAMES
    job = Job(server.kubectl, server.namespace, images["base"].reference)
    counts = (
        own("Running"),
        *('objects{kind="job"}', "pods", "placed_pods", 'jobs{phase="Running"}'),
    )
    before = plane.observer.figures()
    server.apply()
    job.apply(command=WAITS)
    server.wait("Ready")
    job.wait("Running")
    for name, more in zip(counts, (1, 1, 2, 2, 1), strict=True):
        wait_until(lambda n=name, m=more: now(n) == before.get(n, 0) + m, f"{name} is right")  # type: ignore[misc]
    # A status is written before it is counted.
    wait_until(lambda: all(now(name) > before[name] for name in TOTALS), "all was counted")
    started = f'devserver_start_duration_seconds_count{{flavor="{server.namespace}"}}'
    wait_until(lambda: now(started) == 1, "its start was counted")
    after = plane.observer.figures()
    assert (fallen(before, after), torn(after)) == ([], [])
    assert after["leader"] == 1
    assert after["process_start_time_seconds"] == before["process_start_time_seconds"]
    assert 0 < after["process_open_fds"] < after["process_max_fds"]
    assert after["process_resident_memory_bytes"] > 10 << 20
    assert after['objects{kind="devserver"}'] >= 1
    assert 2 <= after["placed_pods"] <= after["pods"]
    server.stop()
    wait_until(lambda: (now(own("Running")), now(own("Stopped"))) == (0, 1), "it has stopped")

    assert now("leader") == 1
    flavors = 'status_writes_total{kind="flavor"}'
    assert now(flavors) > 0
    job.delete()
    for name in ('jobs{phase="Running"}', "claims_deleted_total"):
        assert name in before
    wait_until(lambda: now('jobs{phase="Running"}') == before['jobs{phase="Running"}'], "it goes")
    assert plane.kubectl("get", "lease", "devctl-observer", "-n", SYSTEM, "-o", "name")
