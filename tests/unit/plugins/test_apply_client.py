"""Faults of the API server: what is retried, for how long, and the messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apply.errors import ApplyError
from apply.manifests import Key, Kind
from apply.server.client import Cluster
from apply.server.connection import connect
from apply.server.retry import Retry
from unit.plugins.fake_api import FakeApi, failure
from urllib3.exceptions import ProtocolError

from devctl.api.applied import Reason

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "/api/v1/namespaces/team/configmaps"
METADATA = {"name": "a", "namespace": "team"}
MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": METADATA, "data": {}}


class Time:
    """A clock that advances only when something sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def apply(api: FakeApi, time: Time) -> None:
    retry = Retry(sleep=time.sleep, clock=lambda: time.now)
    Cluster(api.client(), "team", "devctl-operator", retry=retry).apply(dict(MANIFEST))


@pytest.mark.parametrize(
    "fault",
    [
        failure(429, "slow down"),
        failure(500, "etcdserver: leader changed"),
        failure(503, "apiserver is shutting down"),
        ProtocolError("Connection aborted.", ConnectionResetError(104, "reset")),
    ],
)
def test_a_passing_fault_is_tried_again(fault: Exception) -> None:
    api, time = FakeApi(faults=[fault, fault]), Time()

    apply(api, time)

    assert api.requests == [f"PATCH {CONFIG}/a"] * 3
    assert 0 < time.now < 1


def test_an_outage_ends_in_seconds() -> None:
    api, time = FakeApi(faults=[failure(503, "gone for lunch")] * 1000), Time()

    with pytest.raises(ApplyError, match="ConfigMap team/a: gone for lunch") as caught:
        apply(api, time)

    assert caught.value.reason is Reason.UNAVAILABLE
    assert caught.value.retryable
    assert 2 < time.now <= 4


def test_retry_after_is_kept() -> None:
    time = Time()
    apply(FakeApi(faults=[failure(429, "slow down", **{"Retry-After": "2"})]), time)

    assert 2 < time.now < 3


def test_a_long_retry_after_is_the_operators_to_wait_for() -> None:
    time = Time()
    with pytest.raises(ApplyError, match="slow down"):
        apply(FakeApi(faults=[failure(429, "slow down", **{"retry-after": "60"})]), time)

    assert time.slept == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (failure(422, 'ConfigMap "a" is invalid: data: bad'), Reason.INVALID),
        (failure(400, 'strict decoding error: unknown field "spec.x"'), Reason.INVALID),
        (failure(404, 'namespaces "team" not found'), Reason.INVALID),
        (failure(403, 'configmaps "a" is forbidden: exceeded quota: q'), Reason.QUOTA_EXCEEDED),
        (failure(403, 'User "x" cannot patch resource'), Reason.FORBIDDEN),
        (failure(401, "Unauthorized"), Reason.FORBIDDEN),
        (
            failure(403, "namespace team is being terminated", {"reason": "NamespaceTerminating"}),
            Reason.TERMINATING,
        ),
    ],
)
def test_a_refusal_is_not_tried_again_and_quoted(fault: Exception, reason: Reason) -> None:
    api = FakeApi(faults=[fault])

    with pytest.raises(ApplyError) as caught:
        apply(api, Time())

    assert caught.value.reason is reason
    assert str(caught.value).startswith("ConfigMap team/a: ")
    assert len(api.requests) == 1


def test_an_answer_of_a_proxy_in_between_is_named() -> None:
    fault = failure(502)
    fault.body = "<html>Bad Gateway</html>"
    with pytest.raises(ApplyError, match="ConfigMap team/a: the API server answered 502 Reason"):
        apply(FakeApi(faults=[fault] * 100), Time())


def test_a_message_is_one_line() -> None:
    with pytest.raises(ApplyError) as caught:
        apply(FakeApi(faults=[failure(422, "first\n  second")]), Time())

    assert str(caught.value) == "ConfigMap team/a: first second"


def test_what_does_not_exist_is_none() -> None:
    cluster = Cluster(FakeApi().client(), "team", "devctl-operator")

    assert cluster.get(Key(Kind("v1", "ConfigMap"), "a", "team")) is None


def test_the_environment_names_the_cluster(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c,"
        " clusters: [{name: c, cluster: {server: 'http://localhost:8888'}}],"
        " users: [{name: u, user: {username: owner, password: unused}}],"
        " contexts: [{name: c, context: {cluster: c, user: u}}]}"
    )
    environment = {"K8S_AUTH_KUBECONFIG": str(kubeconfig), "KUBECONFIG": "/nowhere"}

    with connect(environment) as client:
        assert Cluster(client, "team", "devctl-operator").proxied
        assert client.configuration.api_key["authorization"].startswith("Basic ")


@pytest.mark.parametrize("text", ["", "a: b: c", "{apiVersion: v1, kind: Config}"])
def test_an_unusable_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(text)

    with (
        pytest.raises(ApplyError, match="is not a usable kubeconfig"),
        connect({"KUBECONFIG": str(kubeconfig)}),
    ):
        pass
    with (
        pytest.raises(ApplyError, match="neither K8S_AUTH_KUBECONFIG nor KUBECONFIG is set"),
        connect({}),
    ):
        pass
