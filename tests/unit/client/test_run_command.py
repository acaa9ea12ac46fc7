"""Variables of a run, on every replica."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from devctl.client.runs.command import encoded
from devctl.errors import UsageError
from unit.client.run_things import seen

if TYPE_CHECKING:
    from devctl.client.runs.runs import Runs
    from unit.client.run_things import Ranks


def test_variables_arrive_as_they_are_and_are_nowhere_else(lab: Ranks, runs: Runs) -> None:
    values = {"A": "a b\n\n", "B": "$(id)`id`\\0101'\"=%s", "devctl": "ü€", "EMPTY": "", "run": "x"}
    program = "import json, os; print(json.dumps({n: os.environ[n] for n in %r}))" % [*values]
    place = runs.place("lab")
    run = runs.start(place, ["python3", "-c", program], env=values | {"TOKEN": "sesame"})
    printed, _, _ = seen(run, runs.follow(run))
    for rank in (0, 1):
        assert json.loads(printed[rank]) == values
        folder = lab.home(rank) / f".devctl/runs/{run.name}"
        assert all(b"sesame" not in file.read_bytes() for file in folder.iterdir())
    assert not [call for call in lab.calls if "sesame" in str(call)]
    assert "sesame" not in str(runs.find("lab", run.name).raw)


def test_packages_are_looked_for_before_what_the_server_has(lab: Ranks, runs: Runs) -> None:
    words = ["sh", "-c", "echo $PYTHONPATH"]
    place = runs.place("lab")
    lab.variables["PYTHONPATH"] = "/image"
    run = runs.start(place, words, imports=["src", ""])
    printed, _, _ = seen(run, runs.follow(run))
    for rank, path in printed.items():
        assert path.decode() == f"{lab.home(rank)}/src:{lab.home(rank)}:/image\n"
    run = runs.start(place, words, env={"PYTHONPATH": "/own"}, imports=["src"])
    assert seen(run, runs.follow(run))[0] == {0: b"/own\n", 1: b"/own\n"}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"A-B": "x"}, "`A-B` is not the name"),
        ({"": ""}, "is not the name"),
        ({"1A": ""}, "is not the name"),
        ({"A": "a\0b"}, "of `A` holds a NUL"),
        ({"A": "x" * 100_001}, "of `A` has more than"),
        ({f"A{number}": "x" * 100_000 for number in range(11)}, "are too large"),
    ],
)
def test_what_cannot_be_a_variable_is_told(variables: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        encoded(variables)
