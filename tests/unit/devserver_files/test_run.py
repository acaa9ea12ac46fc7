from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unit.devserver_files.conftest import (
    PRESENT,
    SHORT,
    Rank,
    catches_term,
    made,
    tells,
)
from unit.patience import FOREVER, PATIENCE, eventually

ODD = ["a b", "$(touch evil)", "`touch evil`", "'\"", "-n", "", "a\nb", "*", "ü€", "\\"]
SEVERAL = {"WORLD_SIZE": "2"}
SLEEPS = ("sh", "-c", f"echo begun; exec sleep {FOREVER}")
LOOKS = '[ "$looks" = 50 ]'
"""Whether a run has waited long enough for one that does not decide."""
PATIENT = {LOOKS: '[ "$looks" = 36000 ]'}
SAVES = f"""
import signal, sys, time
def save(*_):
    time.sleep(0.3)
    print("saved")
    sys.exit(3)
signal.signal(signal.SIGTERM, save)
print("begun")
time.sleep({FOREVER})
"""


def test_a_run_goes_on_without_whoever_started_it(rank: Rank) -> None:
    began = uptime()
    assert rank.start("one", "sh", "-c", "echo begun; sleep 0.3; echo done; exit 7") == (0, "", "")

    printed, (fate, code, when, now) = rank.all("one")

    assert (printed, fate, code) == ("begun\ndone\n", "ended", "7")
    assert began <= float(when) <= float(now) <= uptime()


def test_what_is_printed_comes_complete_and_in_order(rank: Rank) -> None:
    assert rank.start("one", "sh", "-c", "seq 50000; seq 50000 >&2")[0] == 0

    printed, _ = rank.all("one")

    assert printed.splitlines() == 2 * [str(number) for number in range(1, 50001)]


def test_output_is_taken_up_again_at_a_byte(rank: Rank) -> None:
    rank.start("one", "printf", "%s", "0123456789")
    assert rank.all("one")[0] == "0123456789"

    assert rank.follow("one", 4)[0] == "456789"
    watcher = rank.container.start("run", "output", "one", "4", stdin=subprocess.PIPE)
    assert watcher.stdout
    assert watcher.stdout.read() == "456789"
    watcher.communicate(timeout=PATIENCE)
    assert watcher.returncode == 0


def test_the_last_lines_begin_with_a_whole_one(rank: Rank) -> None:
    rank.start("one", "printf", "first\nsecond\nthird\n")
    rank.all("one")

    printed, said = rank.follow("one", -9)
    assert (printed, said[0]) == ("third\n", "from 13")
    assert rank.follow("one", -900)[0] == "first\nsecond\nthird\n"


def test_words_are_words(rank: Rank) -> None:
    rank.start("one", "printf", "%s|", *ODD)

    assert rank.all("one")[0] == "".join(f"{word}|" for word in ODD)
    fields = rank.listed()
    assert (fields[0], fields[1:3], fields[5]) == ("one", ["ended", "0"], str(2 + len(ODD)))
    assert fields[6:] == ["printf", "%s|", *ODD]
    assert not list(rank.home.rglob("evil"))


@pytest.mark.parametrize("program", PRESENT)
@settings(max_examples=15)
@given(
    words=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), max_size=4
    )
)
def test_every_word_arrives_as_it_is(program: str, words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, made(Path(folder), program) as rank:
        rank.start("one", "printf", "%s|", *words)
        output = rank.runs / "one/output"
        wanted = "".join(f"{word}|" for word in words or [""]).encode()
        eventually(lambda: output.read_bytes() == wanted)
        eventually((rank.runs / "one/exit").exists)


def test_the_environment_is_the_servers_and_the_output_its_owners(rank: Rank) -> None:
    rank.start("one", "sh", "-c", 'echo "$NCCL_DEBUG"; umask; pwd', env={"NCCL_DEBUG": "INFO"})

    lines = rank.all("one")[0].splitlines()

    usual = os.umask(0o22)
    os.umask(usual)
    assert lines == ["INFO", f"{usual:04o}", str(rank.home)]
    assert rank.runs.stat().st_mode & 0o77 == 0


def test_a_run_reads_nothing(rank: Rank) -> None:
    rank.start("one", "cat")
    printed, said = rank.all("one")
    assert (printed, said[:2]) == ("", ["ended", "0"])


@pytest.mark.parametrize(("ending", "code"), [("kill -KILL $$", "137"), ("exec no-such", "127")])
def test_an_end_is_on_record(rank: Rank, ending: str, code: str) -> None:
    rank.start("one", "sh", "-c", ending)
    assert rank.all("one")[1][:2] == ["ended", code]


def test_python_may_have_one_name_only(rank: Rank) -> None:
    programs = rank.container.program_on_path("python3", 'echo "python3 $*"')
    text = "command -v python >/dev/null"
    rank.start("one", "python", "-u", "x.py", env=programs, more={f"! {text}": "! false"})
    assert rank.all("one")[0] == "python3 -u x.py\n"


def test_stop_ends_everything_that_a_run_has_started(rank: Rank) -> None:
    hides = f"import os, sys, time\nos.setsid()\nif os.fork(): sys.exit()\ntime.sleep({FOREVER})"
    deaf = "trap '' TERM; echo deaf; while :; do sleep 1; done"
    line = f"(exec {sys.executable} -c '{hides}') & sleep {FOREVER} & {deaf}"
    rank.start("one", "sh", "-c", line)
    output = rank.runs / "one/output"
    eventually(lambda: output.read_text() == "deaf\n")
    assert writers(output)

    assert rank("stop", "one", more=SHORT) == (0, "", "")

    assert writers(output) == []
    assert rank.fates()["one"] == "ended 137"


def test_a_program_gets_to_write_what_it_has(rank: Rank) -> None:
    rank.start("one", sys.executable, "-uc", SAVES)
    eventually(lambda: (rank.runs / "one/output").read_text() == "begun\n")

    assert rank("stop", "one", more={"limit=100 ": "limit=36000 "}) == (0, "", "")

    assert (rank.runs / "one/output").read_text() == "begun\nsaved\n"
    assert rank.fates()["one"] == "ended 3"
    assert rank("stop", "one") == (0, "", "")


def test_a_run_of_an_earlier_life_of_the_container_is_lost(rank: Rank) -> None:
    folder = rank.pretends("one")
    (folder / "output").write_text("begun\n")
    (folder / "supervisor").write_text(f"{os.getpid()} 1\n")

    assert rank.fates()["one"] == "lost -"
    assert rank.all("one") == ("begun\n", ["lost"])
    assert rank("stop", "one") == (0, "", "")


def test_whoever_watches_may_go_without_a_word(rank: Rank) -> None:
    rank.start("one", *SLEEPS)
    watcher = rank.container.start("run", "follow", "one", "0", stdin=subprocess.PIPE)
    assert watcher.stdin
    assert watcher.stdout
    assert watcher.stdout.readline() == "begun\n"
    # Its `tail` may speak before the shell has its trap.
    eventually(lambda: catches_term(watcher.pid))

    watcher.stdin.close()

    assert watcher.wait(PATIENCE) == 143
    assert watcher.stdout.read() == ""
    watcher.stdout.close()
    assert rank.fates()["one"] == "running -"


def test_whoever_has_gone_before_it_begins_is_no_trouble(rank: Rank) -> None:
    rank.start("one", *SLEEPS)
    # Its shell never gets as far as its trap: the guard has to end everything before.
    trap = '  trap \'kill "$tail" "$guard"'
    never = {trap: f"  while :; do sleep 0.1; done\n{trap}"}
    status, _, said = rank.container.run("run", "follow", "one", "0", more=never)
    # With something of `tail` left, its output would still be open.
    assert (status, said) == (-signal.SIGTERM, "")


def test_a_server_of_one_rank_runs_several_at_once(rank: Rank) -> None:
    for run in ("one", "two"):
        assert rank.start(run, *SLEEPS)[0] == 0
    assert set(rank.fates().values()) == {"running -"}


def test_ranks_that_meet_run_one_at_a_time(rank: Rank) -> None:
    assert rank.start("b", *SLEEPS, env=SEVERAL)[0] == 0

    for run in ("a", "c"):
        tells(rank.start(run, *SLEEPS, env=SEVERAL), 75, "run `b` is active here", "stop it")
    assert list(rank.fates()) == ["b"]

    has_begun(rank, "b")
    rank("stop", "b", more=SHORT)
    assert rank.start("a", *SLEEPS, env=SEVERAL)[0] == 0


def test_of_many_that_start_at_the_same_moment_one_does(rank: Rank) -> None:
    rank.start("old", "true", env=SEVERAL)
    rank.all("old")
    for round_ in range(4):
        runs = [f"{round_}-{number}" for number in range(5)]
        rank.begun += runs
        # Each writes the script anew, which must not change under the others.
        script = rank.container.script("run", PATIENT)
        argv = [rank.container.argv[0], str(script), "start"]
        started = [
            subprocess.Popen(
                [str(rank.container.root / "sh"), *argv[1:], run, ".", *SLEEPS],
                env={"PATH": os.environ["PATH"], **SEVERAL},
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            for run in runs
        ]
        said = [process.communicate(timeout=PATIENCE)[1] for process in started]
        codes = [process.returncode for process in started]
        assert sorted(codes) == [0, 75, 75, 75, 75], said
        assert list(rank.fates().values()).count("running -") == 1
        first = runs[codes.index(0)]
        has_begun(rank, first)
        rank("stop", first, more=SHORT)


def test_what_an_ended_run_has_left_lets_no_two_start(rank: Rank) -> None:
    # Two that each took away what the last one had left each believed that they were first.
    rank.start("old", "true", env=SEVERAL)
    rank.all("old")
    (rank.runs / "current").symlink_to("run:old")
    # The first one has found nobody, and does not get to take its turn until the second has looked.
    held, go = rank.container.root / "held", rank.container.root / "go"
    waits = f'true >"{held}"; while ! [ -e "{go}" ]; do sleep 0.05; done'
    slow = f'case $* in */a/turn) {waits} ;; esac\nPATH=${{PATH#*:}} exec mv "$@"'
    env = SEVERAL | rank.container.program_on_path("mv", slow)
    rank.begun += ["a", "b"]

    first = rank.container.start("run", "start", "a", ".", *SLEEPS, env=env)
    eventually(held.exists)
    second = rank("start", "b", ".", *SLEEPS, env=env)
    go.touch()
    first.communicate(timeout=PATIENCE)

    assert (first.returncode, second[0]) == (0, 75)


def test_of_two_that_look_around_the_first_by_name_goes_on(rank: Rank) -> None:
    other = rank.pretends("b")

    tells(rank.start("c", *SLEEPS, env=SEVERAL), 75, "run `b` is active here", "stop it")
    looks = rank.runs / "a/looks"
    more = {LOOKS: f'{{ echo >>"$run/looks"; {PATIENT[LOOKS]}; }}'}
    process = rank.container.start("run", "start", "a", ".", *SLEEPS, env=SEVERAL, more=more)
    rank.begun.append("a")
    eventually(lambda: looks.exists() and looks.read_text().count("\n") > 2)
    assert process.poll() is None
    (other / "supervisor").unlink()

    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 0
    assert (rank.runs / "a/turn").exists()
    has_begun(rank, "a")


def test_a_run_that_was_there_is_not_overtaken(rank: Rank) -> None:
    rank.pretends("b", turn=True)
    tells(rank.start("a", *SLEEPS, env=SEVERAL), 75, "run `b` is active here", "stop it")
    assert not (rank.runs / "a").exists()


def test_whoever_never_decides_is_not_waited_for_long(rank: Rank) -> None:
    rank.pretends("b")
    more = {LOOKS: '[ "$looks" = 2 ]'}
    result = rank.start("a", *SLEEPS, env=SEVERAL, more=more)
    tells(result, 75, "run `b` is active here", "stop it")


def test_old_runs_give_way_but_none_that_goes_on(rank: Rank) -> None:
    rank.start("first", *SLEEPS)
    few = {"keep=20": "keep=3"}
    for number in range(5):
        rank.start(f"run-{number}", "true", more=few)
        eventually((rank.runs / f"run-{number}/exit").exists)
        # What `ls -t` goes by.
        os.utime(rank.runs / f"run-{number}", (number + 10, number + 10))
        os.utime(rank.runs / "first", (1, 1))

    assert sorted(rank.fates()) == ["first", "run-2", "run-3", "run-4"]


@pytest.mark.parametrize("written", ['>"$run/record.new"', '1<>"$1"'])
def test_a_full_home_is_called_so(rank: Rank, written: str) -> None:
    more = {f"| cat {written}": "| cat >/dev/full"}
    result = rank.start("one", "true", more=more)
    tells(result, 73, "the home is full: cat: ", "raise spec.persistentHomeSize")
    assert "No space left on device" in result[2]
    assert not (rank.runs / "one").exists()


def test_a_home_that_fills_up_later_still_notes_the_end(rank: Rank) -> None:
    # Nothing new is made from then on: neither files nor blocks.
    rank.start("one", "sh", "-c", 'ls ".devctl/runs/one"; exit 5')
    printed, said = rank.all("one")
    assert printed.split() == ["exit.new", "output", "record", "supervisor", "turn"]
    assert said[:2] == ["ended", "5"]
    assert (rank.runs / "one/exit").stat().st_size == 41


def test_a_command_that_fails_in_a_full_home_is_told_with_why(rank: Rank) -> None:
    full = {'/dev/zero >"$run/room"': "/dev/zero >/dev/full"}
    rank.start("one", "sh", "-c", "exit 5", more=full)
    rank.start("two", "true", more=full)
    rank.start("other", "sh", "-c", "exit 6")
    for run, last in (("one", ["full", "5"]), ("two", ["size 0", "0"]), ("other", ["size 0", "6"])):
        eventually((rank.runs / run / "exit").exists)
        said = rank.follow(run)[1]
        assert [said[-2], said[-1].split()[1]] == last
        assert not (rank.runs / run / "room").exists()
    assert rank.fates()["one"] == "ended 5"


def test_a_home_that_takes_nothing_is_told(rank: Rank) -> None:
    (rank.home / ".devctl").write_text("a file")
    tells(rank.start("one", "true"), 73, "cannot write in", "write access")


def test_a_folder_that_is_not_there_is_told(rank: Rank) -> None:
    tells(rank("start", "one", "no/such", "true"), 3, "no folder", "devctl sync")


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", "a/b"])
def test_a_name_that_none_can_have_is_refused(rank: Rank, name: str) -> None:
    tells(rank("start", name, ".", "true"), 2, "is not a valid run name", "use a-z")
    tells(rank("stop", name), 2, "no run is called", "devctl logs")
    assert not rank.runs.exists()


def test_a_run_is_never_written_over(rank: Rank) -> None:
    rank.start("one", *SLEEPS)
    tells(rank.start("one", "true"), 2, "run `one` already exists", "another name")
    assert rank.fates() == {"one": "running -"}


@pytest.mark.parametrize("words", [["follow", "one", "0"], ["output", "one", "0"], ["stop", "one"]])
def test_a_run_that_is_not_there_is_told(rank: Rank, words: list[str]) -> None:
    tells(rank(*words), 3, "this rank has no run `one`", "devctl logs")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["start"],
        ["start", "one", "."],
        ["begin", "0", "one", "."],
        ["follow", "one"],
        ["stop"],
        ["list", "x"],
        ["prune"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_told(rank: Rank, words: list[str]) -> None:
    tells(rank(*words), 2, "is not a valid request", "use start")


@pytest.mark.parametrize(
    "torn",
    [b"", b"17", b"17\0/home\0002\0train\0", b"17\0/home\0x\0", b"\0\0\0", b"17\0/a\nb\0009\0x\0"],
)
def test_a_torn_record_stands_in_nobodys_way(torn: bytes, rank: Rank) -> None:
    for name in ("a", "b", "c"):
        rank.start(name, "printf", "x\n%s", name)
        eventually((rank.runs / name / "exit").exists)
    (rank.runs / "b/record").write_bytes(torn)
    fields = rank.listed()
    assert rank.fates() == {"a": "ended 0", "b": "ended 0", "c": "ended 0"}
    assert rank.all("b")[0] == "x\nb"
    assert rank("stop", "b") == (0, "", "")
    at = fields.index("b")
    assert fields[at : at + 6] == ["b", "ended", "0", "0", "", "0"]


@pytest.mark.parametrize("torn", ["", " " * 40 + "\n", "7", "x y"])
def test_an_end_that_nobody_can_read_is_no_end(torn: str, rank: Rank) -> None:
    folder = rank.pretends("one")
    (folder / "output").write_text("begun\n")
    (folder / "supervisor").unlink()
    (folder / "exit").write_text(torn)
    assert rank.fates() == {"one": "lost -"}
    assert rank.all("one") == ("begun\n", ["lost"])


def test_no_runs_are_an_empty_list(rank: Rank) -> None:
    assert rank.listed() == []


def has_begun(rank: Rank, run: str) -> None:
    """Wait until a run's command has printed something: only then is there anything to stop."""
    eventually((rank.runs / run / "output").read_text)


def uptime() -> float:
    """Seconds since boot."""
    return float(Path("/proc/uptime").read_text().split()[0])


def writers(output: Path) -> list[str]:
    """The processes that print into a run's output."""
    found = []
    for opened in Path("/proc").glob("[0-9]*/fd/1"):
        try:
            if opened.samefile(output):
                found.append(opened.parts[2])
        except OSError:
            continue
    return found
