"""Requests are encoded and responses parsed in the same way, however their bytes arrive."""

from __future__ import annotations

import pytest

from doorward.core.wire.http1 import BadResponse, InvalidHeader, ResponseHead, ResponseParser, encode_request

CHUNKED = (
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
)


def test_a_request_has_a_length_only_with_a_body() -> None:
    assert encode_request("GET", "/a?b=c", {"Host": "x"}, b"") == b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"
    assert encode_request("POST", "/", {}, b"") == b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(("name", "value"), [("a b", "x"), ("", "x"), ("A", "x\r\nB: y"), ("A", "…")])
def test_a_header_that_http_cannot_carry_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidHeader):
        encode_request("GET", "/", {name: value}, b"")


@pytest.mark.parametrize("pieces", [[CHUNKED], [bytes([byte]) for byte in CHUNKED]])
def test_a_response_is_parsed_in_whatever_pieces_it_comes(pieces: list[bytes]) -> None:
    parser = ResponseParser()
    for piece in pieces:
        assert not parser.is_complete
        parser.feed(piece)
    assert parser.head == ResponseHead(200, {"x-a": "1, 2", "transfer-encoding": "chunked"})
    assert b"".join(parser.take_body()) == b"abcde"
    assert (parser.is_complete, parser.keep_alive) == (True, True)


def test_the_end_of_the_connection_ends_only_a_body_without_a_length() -> None:
    endless, cut = ResponseParser(), ResponseParser()
    for parser, header in ((endless, b"X: y"), (cut, b"Content-Length: 9")):
        parser.feed(b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\nabc")
        parser.feed_eof()
        assert parser.take_body() == [b"abc"]
    assert (endless.is_complete, endless.keep_alive) == (True, False)
    assert not cut.is_complete


def test_a_second_response_is_dropped_and_ends_the_connection() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na" + b"HTTP/1.1 201 OK\r\nContent-Length: 1\r\n\r\nb")
    assert parser.head == ResponseHead(200, {"content-length": "1"})
    assert parser.take_body() == [b"a"]
    assert not parser.keep_alive


@pytest.mark.parametrize("text", [b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
def test_other_protocols_are_refused(text: bytes) -> None:
    with pytest.raises(BadResponse, match=r"its response is not HTTP/1\.1"):
        ResponseParser().feed(text)


def test_headers_have_a_limit() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\n")

    def endlessly() -> None:
        while True:
            parser.feed(b"A: " + b"x" * 10_000 + b"\r\n")

    with pytest.raises(BadResponse, match="larger than 65536 bytes"):
        endlessly()
