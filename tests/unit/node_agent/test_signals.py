from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_node_agent.gpus import Gpus
from devctl_node_agent.jupyter import Jupyter
from devctl_node_agent.network import parse_devices
from devctl_node_agent.processes import Io
from devctl_node_agent.sample import Counters, Sample
from devctl_node_agent.signals import MAX_GAP, Reading, judge
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.node_activity import ALWAYS_REPORTED, Signal

if TYPE_CHECKING:
    from collections.abc import Mapping

MIB = 1 << 20
SSHD = (7, 70)


def counters(at: float = 10.0, **changes: Any) -> Counters:
    quiet = Counters(at, 5.0, 100, 100, {SSHD: Io(0, 0, 0)}, frozenset({SSHD}), {})
    return quiet._replace(**changes)


BEFORE = counters(0.0)


def active(readings: Mapping[Signal, Reading]) -> dict[Signal, str]:
    return {signal: reading.detail for signal, reading in readings.items() if reading.active}


def test_a_quiet_pod_is_idle() -> None:
    found = judge(BEFORE, Sample(counters()))
    assert found.keys() == ALWAYS_REPORTED
    assert active(found) == {}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"cpu_seconds": 5.4}, {}),
        ({"cpu_seconds": 6.0}, {Signal.CPU: "0.10 cores"}),
        ({"cpu_seconds": 1.0}, {Signal.CPU: "restarted"}),
        ({"io_bytes": 100 + 640 * 1024}, {}),
        ({"io_bytes": 100 + MIB}, {Signal.DISK: "102 KiB/s"}),
        ({"io_bytes": 0}, {Signal.DISK: "restarted"}),
        ({"processes": {SSHD: Io(0, 0, 0), (8, 80): Io(MIB, 0, 0)}}, {Signal.DISK: "102 KiB/s"}),
        ({"network_bytes": 100 + 80 * 1024}, {}),
        ({"network_bytes": 100 + MIB}, {Signal.NETWORK: "102 KiB/s"}),
        ({"network_bytes": 0}, {Signal.NETWORK: "restarted"}),
        ({"processes": {SSHD: Io(0, MIB, 0)}}, {Signal.NETWORK: "102 KiB/s over SSH"}),
        ({"processes": {SSHD: Io(0, 0, MIB)}}, {Signal.NETWORK: "102 KiB/s over SSH"}),
        ({"processes": {SSHD: Io(0, 99, 99)}}, {}),
        ({"input_times": {3: 5}}, {Signal.TERMINAL: "input in pts/3"}),
        ({"last_command": 7}, {Signal.TERMINAL: "a command of devctl's"}),
    ],
    ids=str,
)
def test_what_a_pod_uses_is_activity_above_a_limit(
    changes: Mapping[str, Any], found: Mapping[Signal, str]
) -> None:
    assert active(judge(BEFORE, Sample(counters(**changes)))) == found


def test_input_is_a_changed_time_in_either_direction() -> None:
    before = counters(0.0, input_times={3: 50, 4: 1})
    assert active(judge(before, Sample(counters(input_times={3: 50, 4: 1})))) == {}
    assert Signal.TERMINAL in active(judge(before, Sample(counters(input_times={3: 49, 4: 1}))))
    assert active(judge(before, Sample(counters(input_times={3: 50})))) == {}


def test_processes_and_attached_terminals_are_named() -> None:
    sample = Sample(counters(), working=("python (pid 9)", "", ""), attached=("bash (pid 8)",))
    assert active(judge(BEFORE, sample)) == {
        Signal.PROCESS: "python (pid 9) and 2 more",
        Signal.TERMINAL: "bash (pid 8)",
    }


@pytest.mark.parametrize(
    ("changes", "signal"),
    [
        ({"cpu_seconds": None}, Signal.CPU),
        ({"io_bytes": None, "processes": {}}, Signal.DISK),
        ({"processes": {}}, Signal.DISK),
        ({"network_bytes": None}, Signal.NETWORK),
        ({"input_times": None}, Signal.TERMINAL),
        ({"last_command": None}, Signal.TERMINAL),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_unknown_and_so_active(
    changes: Mapping[str, Any], signal: Signal
) -> None:
    for before, now in ((BEFORE, counters(**changes)), (counters(0.0, **changes), counters())):
        if signal is Signal.DISK and now.processes:
            continue
        found = judge(before, Sample(now))
        assert [each for each, reading in found.items() if reading.unknown] == [signal]
        assert found[signal].active
        assert found[signal].detail


def test_without_the_cgroups_counters_those_of_processes_do() -> None:
    before = counters(0.0, io_bytes=None)
    found = judge(before, Sample(counters(io_bytes=None)))[Signal.DISK]
    assert found == Reading(active=False)


def test_processes_that_cannot_be_seen_are_unknown() -> None:
    found = judge(BEFORE, Sample(counters(), problem="not running"))
    for signal in (Signal.PROCESS, Signal.TERMINAL):
        assert found[signal] == Reading(active=True, detail="not running", unknown=True)


def test_a_pod_seen_for_the_first_time_is_active() -> None:
    assert active(judge(None, Sample(counters()))).keys() == ALWAYS_REPORTED - {Signal.PROCESS}


def test_what_happened_in_a_long_gap_is_unknown() -> None:
    sample = Sample(counters(MAX_GAP + 1), jupyter=Jupyter())
    found = judge(BEFORE, sample)
    assert found.keys() == ALWAYS_REPORTED | {Signal.JUPYTER}
    assert all(reading.unknown for reading in found.values())


def test_jupyter_is_active_while_a_kernel_is_not_idle() -> None:
    idle = judge(BEFORE, Sample(counters(), jupyter=Jupyter(frozenset({"a"}), (), 3.0)))
    assert idle[Signal.JUPYTER] == Reading(active=False, detail="a kernel or terminal", last=3.0)
    busy = judge(BEFORE, Sample(counters(), jupyter=Jupyter(busy=("python3", "ir"))))
    assert active(busy) == {Signal.JUPYTER: "kernel python3 and 1 more is busy"}
    broken = judge(BEFORE, Sample(counters(), jupyter=Jupyter(problem="not JSON")))
    assert broken[Signal.JUPYTER] == Reading(active=True, detail="not JSON", unknown=True)


def test_a_gpu_is_active_while_it_is_used() -> None:
    def found(gpus: Gpus, user: str = "") -> Reading:
        return judge(BEFORE, Sample(counters(), gpus=gpus, gpu_user=user))[Signal.GPU]

    assert found(Gpus()) == Reading(active=False)
    assert found(Gpus((7,)), "python (pid 7)") == Reading(active=True, detail="python (pid 7)")
    assert found(Gpus(load=30)).detail == "simulated load of 30 %"
    assert found(Gpus(problem="nvidia-smi: Timeout")).unknown


NUMBERS = st.none() | st.integers(0, 10**9)
SOME = st.builds(
    Counters,
    at=st.floats(0, 100),
    cpu_seconds=NUMBERS,
    io_bytes=NUMBERS,
    network_bytes=NUMBERS,
    processes=st.dictionaries(
        st.tuples(st.integers(1, 3), st.integers(1, 2)),
        st.builds(Io, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)),
    ),
    ssh=st.frozensets(st.tuples(st.integers(1, 3), st.integers(1, 2))),
    input_times=st.none() | st.dictionaries(st.integers(0, 3), st.integers(0, 3)),
)


@given(st.none() | SOME, SOME, st.sampled_from(["", "not running"]))
def test_every_pod_has_every_signal_and_unknown_is_active(
    before: Counters | None, now: Counters, problem: str
) -> None:
    found = judge(before, Sample(now, problem=problem))
    assert found.keys() == ALWAYS_REPORTED
    assert all(reading.active and reading.detail for reading in found.values() if reading.unknown)


def test_traffic_is_that_of_all_interfaces_but_lo() -> None:
    rest = " 0" * 7
    text = (
        f"Inter-|\n face |\n lo: 5{rest} 5{rest}\neth0: 1{rest} 2{rest}\n net1:10{rest} 20{rest}\n"
    )
    assert parse_devices(text.encode()) == 33


@given(st.binary(max_size=300))
def test_no_table_of_interfaces_is_an_error(data: bytes) -> None:
    assert parse_devices(data) >= 0
