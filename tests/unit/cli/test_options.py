"""Options that several commands share."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.durations import parse_duration
from devctl.cli import create, delete, formats, listing, monitor, options
from devctl.cli.listing import labels
from devctl.cli.options import command, duration, where
from devctl.kube.cluster import Cluster

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi


@pytest.mark.parametrize("module", [options, create, delete, formats, listing, monitor])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("list", (None, None, None, None)),
        ("-n team list", (None, None, "team", None)),
        ("-n team list -n other --context dev", (None, "dev", "other", None)),
        ("--kubeconfig a list --kubeconfig b", ("b", None, None, None)),
        ("--request-timeout 1m list --request-timeout 5", (None, None, None, 5)),
    ],
)
def test_a_place_may_stand_before_the_command_or_after_it(
    line: str, asked: tuple[Any, ...], api: FakeApi, devctl: Devctl, monkeypatch: Any
) -> None:
    seen: list[Any] = []

    def connect(*given: Any) -> Any:
        seen.append(given)
        return api.connect()

    monkeypatch.setattr(Cluster, "connect", connect)
    assert devctl(*line.split()).code == 0
    assert seen == [asked]


def test_a_command_to_copy_leads_to_the_same_place() -> None:
    @click.command()
    @where
    def show() -> str:
        return command("stop lab")

    def shown(*line: str) -> Any:
        return show.main(list(line), standalone_mode=False)

    assert command("stop lab") == "`devctl stop lab`"
    assert shown() == "`devctl stop lab`"
    assert shown("--context", "a b", "-n", "team") == "`devctl stop lab -n team --context 'a b'`"


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("", None),
        ("a=b", {"a": "b"}),
        ("a==b, c", {"a": "b", "c": None}),
        ("team.io/a=", {"team.io/a": ""}),
    ],
)
def test_labels(selector: str, found: Any) -> None:
    assert labels(selector) == found


@pytest.mark.parametrize("selector", ["=b", "a!=b", "a in (b)", "a=b=c", "!a"])
def test_labels_that_cannot_be_read_are_refused(selector: str) -> None:
    with pytest.raises(click.BadParameter):
        labels(selector)


@given(st.text(max_size=20) | st.integers().map(str))
def test_a_duration_is_one_or_is_refused(text: str) -> None:
    try:
        found = duration(text)
    except click.BadParameter:
        return
    assert parse_duration(found).total_seconds() >= 0
