"""What goes when something else needs room, and what never does."""

from __future__ import annotations

from devctl_cache_agent.eviction import Held, Limits, is_used, room, victims
from hypothesis import given
from hypothesis import strategies as st

HELD = [Held("git/a", 10, 3.0), Held("git/b", 10, 1.0), Held("git/c", 10, 2.0)]


def test_what_was_used_longest_ago_goes_first_and_no_more_than_needed() -> None:
    assert victims(HELD, 11, (), ()) == [HELD[1], HELD[2]]
    assert victims(HELD, 10, (), ()) == [HELD[1]]
    assert victims(HELD, 0, (), ()) == []


def test_what_the_plan_wants_and_what_pods_use_stays() -> None:
    assert victims(HELD, 10, {"git/b"}, {"git/c"}) == [HELD[0]]


def test_nothing_goes_if_it_would_not_be_enough() -> None:
    assert victims(HELD, 31, (), ()) is None
    assert victims(HELD, 11, {"git/b"}, {"git/c"}) is None


def test_nothing_goes_while_it_is_unknown_what_pods_use() -> None:
    assert victims(HELD, 1, (), None) is None


def test_a_mount_of_the_whole_cache_uses_all_of_it() -> None:
    assert victims(HELD, 1, (), {""}) is None
    assert victims(HELD, 1, (), {"git"}) is None


def test_room_is_bounded_by_the_setting_and_by_the_disk() -> None:
    assert room(Limits(100, 10), held=30, free=1000) == 70
    assert room(Limits(100, 10), held=30, free=15) == 5
    assert room(Limits(100, 10), held=130, free=1000) == 0
    assert room(Limits(100, 10), held=0, free=5) == 0


names = st.sampled_from(["git/a", "git/b", "models/m/snapshots/1", "models/m/snapshots/2"])
mounts = st.sampled_from(["git/a", "git/b/objects", "models/m", "models/m/snapshots/1", "", "x"])


@given(
    st.dictionaries(names, st.tuples(st.integers(0, 9), st.floats(0, 9))),
    st.integers(-1, 40),
    st.sets(names),
    st.none() | st.sets(mounts),
)
def test_whatever_is_lacking_nothing_wanted_or_used_goes(
    held: dict[str, tuple[int, float]], lacking: int, wanted: set[str], used: set[str] | None
) -> None:
    found = victims([Held(path, *rest) for path, rest in held.items()], lacking, wanted, used)
    for each in found or []:
        assert each.path not in wanted
        assert used is not None
        assert not is_used(each.path, used)
    if found is not None:
        assert sum(each.length for each in found) >= lacking
