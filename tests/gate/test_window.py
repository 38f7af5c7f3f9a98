"""A window of times gives what a plain list would, however often it is looked at in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorward.gate.throttle import CallTimes


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=300))
def test_it_holds_what_a_list_would(steps: list[tuple[bool, int]]) -> None:
    now, window, plain = 0.0, CallTimes(), list[float]()
    for comes, seconds in steps:
        if comes:
            now += seconds / 10
            window.note(now)
            plain.append(now)
        else:
            window.forget(now - seconds)
            plain = [one for one in plain if one > now - seconds]
        assert list(window) == plain
        assert len(window) == len(plain)
        assert window.since(now - 5) == sum(one > now - 5 for one in plain)
        if plain:
            assert (window.newest(), window.newest(len(plain))) == (plain[-1], plain[0])


def test_what_is_forgotten_takes_no_room() -> None:
    window = CallTimes()
    for second in range(100_000):
        window.note(float(second))
        window.forget(second - 60.0)
    assert len(window) == 60
    assert len(window._times) <= 200
