from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from devctl_runner import prestart
from devctl_runner.api_server import when_answered
from devctl_runner.prestart import is_ours, lease_name, main, release
from kubernetes.client import ApiException, V1Lease, V1LeaseSpec
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--leader-elect", "--leader-election-id=devctl-operator"], "devctl-operator"),
        (["--leader-election-id=first", "--leader-elect", "--leader-election-id=last"], "last"),
        (["--leader-election-id=devctl-operator"], ""),
        (["--leader-elect"], ""),
        ([], ""),
    ],
)
def test_the_operators_arguments_name_the_lease(arguments: list[str], name: str) -> None:
    assert lease_name(arguments) == name


@pytest.mark.parametrize(
    ("holder", "ours"),
    [
        ("devctl-operator-5d9-x2x_0b1c", True),
        ("devctl-operator-5d9-x2x2_0b1c", False),
        ("devctl-operator-5d9-x2x", False),
        ("", False),
    ],
)
def test_only_a_process_of_the_same_pod_is_ours(holder: str, *, ours: bool) -> None:
    assert is_ours(holder, "devctl-operator-5d9-x2x") is ours


def api(holder: str | None) -> Any:
    spec = V1LeaseSpec(holder_identity=holder, lease_transitions=3, lease_duration_seconds=15)
    return Mock(read_namespaced_lease=Mock(return_value=V1Lease(spec=spec)))


def test_a_dead_processs_lease_becomes_nobodys() -> None:
    server = api("pod_1")
    release(server, "devctl-system", "devctl-operator", "pod")
    (_, _, lease), _ = server.replace_namespaced_lease.call_args
    assert lease.spec.holder_identity is None
    assert lease.spec.lease_transitions == 3


@pytest.mark.parametrize("holder", ["other_1", "", None])
def test_anybody_elses_lease_stays(holder: str | None) -> None:
    server = api(holder)
    release(server, "devctl-system", "devctl-operator", "pod")
    server.replace_namespaced_lease.assert_not_called()


def test_outside_of_a_cluster_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["devctl-prestart", "--leader-elect", "--leader-election-id=devctl-operator"]
    monkeypatch.setattr("sys.argv", arguments)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert main() == 0


def test_without_a_service_account_the_operator_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["devctl-prestart", "--leader-elect", "--leader-election-id=devctl-operator"]
    monkeypatch.setattr("sys.argv", arguments)
    monkeypatch.setattr(prestart, "NAMESPACE", tmp_path / "namespace")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    assert main() == 0
    assert "not checked" in capsys.readouterr().err


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses, on a fake clock."""
    found: list[float] = []
    clock = SimpleNamespace(sleep=found.append, monotonic=lambda: sum(found))
    monkeypatch.setattr("devctl_runner.api_server.time", clock)
    return found


@pytest.mark.parametrize(
    "absent", [HTTPError("refused"), ApiException(503, "not yet"), ApiException(429, "too many")]
)
def test_an_api_server_that_is_away_is_waited_for(absent: Exception, pauses: list[float]) -> None:
    assert when_answered(Mock(side_effect=[absent, absent, "done"])) == "done"
    assert pauses == [1.0, 1.0]


def test_but_not_for_ever(pauses: list[float]) -> None:
    said = when_answered(Mock(side_effect=HTTPError("refused")), patience=20)
    assert said == "no response within 20 s: refused"
    assert 20 <= sum(pauses) <= 22


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (ApiException(404, "Not Found"), ""),
        (ApiException(403, "Forbidden"), "403 Forbidden"),
        (ApiException(409, "Conflict"), "409 Conflict"),
    ],
)
def test_a_refusal_is_an_answer(refusal: Exception, said: str, pauses: list[float]) -> None:
    assert when_answered(Mock(side_effect=refusal)) == said
    assert pauses == []
