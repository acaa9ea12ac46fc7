"""When a request is made once more, and what people are told meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.errors import DevctlError, WaitTimeoutError
from devctl.kube import resources
from devctl.kube.cluster import Cluster
from devctl.kube.kubeconfig import Access
from devctl.kube.patience import retry_after

if TYPE_CHECKING:
    from collections.abc import Callable

OBJECT = {"metadata": {"name": "a"}}
GET: Callable[[Cluster], object] = lambda cluster: cluster.get(resources.Pod, "a")  # noqa: E731
POST: Callable[[Cluster], object] = lambda cluster: cluster.create(resources.Pod, OBJECT)  # noqa: E731
READ: Callable[[Cluster], object] = lambda cluster: cluster.read("/apis/x")  # noqa: E731
ONCE: Callable[[Cluster], object] = lambda cluster: cluster.read("/apis/x", once=True)  # noqa: E731
EXEC: Callable[[Cluster], object] = lambda cluster: cluster.upgrade("x", [("Upgrade", "y")])  # noqa: E731


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 1000.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    # Its own alone: threads of other tests may sleep, too.
    passing = SimpleNamespace(sleep=made.sleep, monotonic=lambda: made.now)
    monkeypatch.setattr("devctl.kube.patience.time", passing)
    return made


class Server:
    """Answers one after another, then always well."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.timeouts: list[dict[str, float | None]] = []

    def cluster(self, request_timeout: float | None = None) -> Cluster:
        transport = httpx2.MockTransport(self._answer)
        return Cluster(Access("https://api"), transport, request_timeout)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.timeouts.append(dict(request.extensions["timeout"]))
        answer = self.answers.pop(0) if self.answers else httpx2.Response(200, json=OBJECT)
        if isinstance(answer, Exception):
            raise answer
        return answer


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name.startswith("devctl")]


def refused(code: int, after: str | None = None) -> httpx2.Response:
    headers = {} if after is None else {"Retry-After": after}
    return httpx2.Response(code, headers=headers, json={"message": "not now"})


def lost() -> Exception:
    return httpx2.RemoteProtocolError("Server disconnected without sending a response.")


@pytest.mark.parametrize("act", [GET, POST, EXEC])
@pytest.mark.parametrize("code", [429, 503])
def test_who_is_told_when_waits_so_long(
    clock: Clock, act: Callable[[Cluster], object], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(refused(code, "7"), refused(code, "2"))
    act(server.cluster())
    assert clock.slept == [7, 2]
    state = "busy" if code == 429 else "not ready"
    assert told(caplog) == [
        f"the API server is {state} ({code}): trying again in {seconds} s" for seconds in (7, 2)
    ]


@pytest.mark.parametrize(
    ("act", "answer", "again"),
    [
        (GET, refused(429), True),
        (POST, refused(429), True),
        (EXEC, refused(429), True),
        (GET, refused(503), True),
        (POST, refused(503), False),
        (EXEC, refused(503), False),
        (READ, refused(503), True),
        (ONCE, refused(503), False),
        (ONCE, refused(429), True),
        (GET, refused(500), False),
        (GET, refused(504, "1"), False),
        (GET, lost(), True),
        (GET, httpx2.ReadError("reset"), True),
        (POST, lost(), False),
        (EXEC, lost(), False),
        (GET, httpx2.ConnectTimeout("slow"), True),
        (POST, httpx2.ConnectTimeout("slow"), True),
        (EXEC, httpx2.ConnectTimeout("slow"), True),
        (GET, httpx2.ConnectError("refused"), False),
        (GET, httpx2.ReadTimeout("silence"), False),
    ],
)
@pytest.mark.usefixtures("clock")
def test_only_what_does_no_harm_is_repeated(
    act: Callable[[Cluster], object], answer: Any, *, again: bool
) -> None:
    server = Server(answer)
    try:
        found = act(server.cluster())
    except (DevctlError, httpx2.TransportError):
        found = None
    assert len(server.timeouts) == 1 + again
    assert not again or not isinstance(found, httpx2.Response) or found.status_code == 200


def test_a_short_wait_is_not_told(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    Server(refused(429)).cluster().get(resources.Pod, "a")
    assert 0 < sum(clock.slept) < 1
    assert not told(caplog)


def test_a_server_that_refuses_for_ever_is_given_up(clock: Clock) -> None:
    server = Server(*[refused(429) for _ in range(100)])
    with pytest.raises(DevctlError, match="busy: not now"):
        server.cluster().get(resources.Pod, "a")
    assert 30 < sum(clock.slept) <= 60
    assert max(clock.slept) <= 10


@pytest.mark.parametrize("after", ["600", "1e9"])
def test_who_is_to_wait_too_long_is_told_at_once(clock: Clock, after: str) -> None:
    with pytest.raises(DevctlError, match="the API server failed: not now"):
        Server(*[refused(503, after) for _ in range(100)]).cluster().create(resources.Pod, OBJECT)
    assert not clock.slept


def test_connections_are_tried_for_half_a_minute(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(*[httpx2.ConnectTimeout("slow")] * 9)
    answer = server._answer  # noqa: SLF001

    def slow(request: httpx2.Request) -> httpx2.Response:
        clock.now += request.extensions["timeout"]["connect"]
        return answer(request)

    cluster = Cluster(Access("https://api"), httpx2.MockTransport(slow))
    with pytest.raises(WaitTimeoutError, match="https://api does not answer in time"):
        cluster.get(resources.Pod, "a")
    assert [timeout["connect"] for timeout in server.timeouts] == [5, 10, 15]
    assert told(caplog) == ["https://api does not answer: trying again"] * 2


def test_a_limit_of_ones_own(clock: Clock) -> None:
    server = Server(refused(429, "2"), refused(429, "2"))
    with pytest.raises(DevctlError, match="busy"):
        server.cluster(3).get(resources.Pod, "a")
    assert [(each["connect"], each["read"]) for each in server.timeouts] == [(3, 3), (1, 1)]
    assert clock.slept == [2]


def test_no_limit_at_all(clock: Clock) -> None:
    server = Server(*[refused(429, "100") for _ in range(10)])
    server.cluster(0).get(resources.Pod, "a")
    assert sum(clock.slept) == 1000
    assert server.timeouts[0]["read"] is None


@pytest.mark.usefixtures("clock")
def test_a_limit_is_for_the_answer_and_not_for_what_it_streams() -> None:
    kept: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        kept.append(request)
        assert request.extensions["timeout"]["read"] == 3
        return httpx2.Response(200, content=b"")

    cluster = Cluster(Access("https://api"), httpx2.MockTransport(answer), 3)
    list(cluster.watch(resources.Pod, seconds=300))
    assert kept[0].extensions["timeout"]["read"] > 300


def test_a_time_to_ask_again() -> None:
    later = datetime.now(UTC) + timedelta(seconds=30)
    found = retry_after(format_datetime(later, usegmt=True))
    assert found is not None
    assert 25 < found <= 30
    assert retry_after("Mon, 01 Jan 2001 00:00:00 GMT") == 0
