"""Output comes as bytes in pieces of any size and goes out as text, bounded (R6.6)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorward.gate.executions.output_buffer import OutputBuffer


def test_a_character_in_two_pieces_comes_whole_with_the_second():
    written = OutputBuffer(100)
    snowman = "☃".encode()
    assert [written.add("stdout", snowman[:2]), written.add("stdout", snowman[2:])] == ["", "☃"]
    assert written.text("stdout") == "☃"


def test_pieces_of_two_streams_do_not_mix_their_characters():
    written = OutputBuffer(100)
    snowman, umbrella = "☃".encode(), "☂".encode()
    told = [
        written.add("stdout", snowman[:1]),
        written.add("stderr", umbrella[:1]),
        written.add("stdout", snowman[1:]),
        written.add("stderr", umbrella[1:]),
    ]
    assert told == ["", "", "☃", "☂"]
    assert [written.text(view) for view in ("stdout", "stderr", "output")] == ["☃", "☂", "☃☂"]


def test_both_streams_together_stand_in_the_order_in_which_they_came():
    written = OutputBuffer(100)
    written.add("stdout", b"one\n")
    written.add("stderr", b"two\n")
    written.add("stdout", b"three\n")
    assert written.text("output") == "one\ntwo\nthree\n"


def test_what_is_no_text_is_shown_as_unreadable_and_so_is_a_character_that_never_ends():
    written = OutputBuffer(100)
    assert written.add("stdout", b"a\xffb") == "a�b"
    assert written.add("stdout", "☃".encode()[:2]) == ""
    assert written.finish("stdout") == "�"
    assert written.text("stdout") == "a�b�"


def test_each_stream_keeps_no_more_than_it_may_and_counts_the_rest():
    written = OutputBuffer(5)
    assert written.add("stdout", b"123") == "123"
    assert written.add("stdout", b"456789") == "45"
    assert written.add("stdout", b"more") == ""
    assert written.add("stderr", b"whole") == "whole"
    assert (written.text("stdout"), written.text("stderr")) == ("12345", "whole")
    assert written.bytes == {"stdout": 13, "stderr": 5}


def test_a_character_that_the_limit_cuts_through_is_shown_as_unreadable():
    written = OutputBuffer(4)
    written.add("stdout", "ab☃".encode())
    written.finish("stdout")
    assert written.text("stdout") == "ab�"


@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=8)), max_size=40))
def test_however_the_bytes_are_cut_each_stream_reads_as_if_it_had_come_whole(pieces):
    written = OutputBuffer(1_000)
    told = {"stdout": "", "stderr": ""}
    for stream, piece in pieces:
        told[stream] += written.add(stream, piece)
    for stream in told:
        told[stream] += written.finish(stream)
        whole = b"".join(piece for name, piece in pieces if name == stream)
        assert written.text(stream) == told[stream] == whole.decode(errors="replace")
    assert len(written.text("output")) == len(told["stdout"]) + len(told["stderr"])
