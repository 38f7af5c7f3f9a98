"""A server's output is cut into lines in the same way however it arrives, and a line has a limit."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.core.wire.lines import LineFramer, LineTooLong


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_however_it_is_cut_the_lines_are_the_same(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines) + b"rest"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=10)) | {0, len(whole)})
    framing = LineFramer(100)
    found = [line for start, end in itertools.pairwise(cuts) for line in framing.feed(whole[start:end])]
    assert found == lines
    assert framing.take_rest() == b"rest"


@pytest.mark.parametrize(
    "pieces", [[b"x" * 11 + b"\n"], [b"x" * 6, b"x" * 5], [b"x" * 6, b"x" * 5 + b"\n"], [b"a\n" + b"x" * 11]]
)
def test_a_line_over_the_limit_ends_it_as_soon_as_it_is_seen(pieces: list[bytes]) -> None:
    framing = LineFramer(10)
    *before, last = pieces
    for piece in before:
        framing.feed(piece)
    with pytest.raises(LineTooLong):
        framing.feed(last)


def test_a_line_of_exactly_the_limit_is_a_line() -> None:
    framing = LineFramer(10)
    assert framing.feed(b"x" * 10 + b"\n") == [b"x" * 10]
    assert framing.feed(b"x" * 5) == []
    assert framing.feed(b"x" * 5 + b"\n") == [b"x" * 10]


def test_an_endless_line_is_never_kept() -> None:
    framing, piece = LineFramer(1_000_000), b"x" * 65_536

    def endlessly() -> None:
        while True:
            framing.feed(bytes(bytearray(piece)))

    tracemalloc.start()
    try:
        with pytest.raises(LineTooLong):
            endlessly()
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
