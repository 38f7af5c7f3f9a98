"""Whatever is sent to the terminal's door: an answer with a code and a sentence, and life
goes on. (CVE-2026-28466: a client sent the internal "approved" field; CVE-2026-42074: one asked for no sandbox.)
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from raw_server import Server, read

WRITE: dict[str, Any] = {"command": "file/write", "room": "lax", "speakAs": "tester"}
PARAMS = {"path": "evil.txt", "content": "x"}
PRIVILEGED = (
    "approved",
    "Approved",
    "isApproved",
    "is_approved",
    "approval",
    "approvalId",
    "preApproved",
    "owner",
    "kind",
    "access",
    "tenant",
    "caller",
    "credential",
    "onBehalfOf",
    "door",
    "session",
    "response",
    "rule",
    "permit",
    "sandbox",
    "noSandbox",
    "disableSandbox",
    "dangerouslyDisableSandbox",
    "skipChecks",
    "bypass",
    "force",
    "admin",
    "__proto__",
    "constructor",
    "$schema",
    "",
)


@pytest.fixture(scope="module", autouse=True)
def stalled(server: Server) -> Iterator[list[socket.socket]]:
    """Connections whose requests never come whole, there from the first test to the last."""
    text = body('{"path": "evil.txt", "content": "x"}')
    waiting = [server.connect() for _ in range(20)]
    for number, sock in enumerate(waiting):
        sock.sendall(b"POST /api/run HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n")
        sock.sendall(f"Content-Length: {len(text)}\r\n\r\n".encode() + text[: number * 3])
    yield waiting
    for sock in waiting:
        sock.close()


def refused(server: Server, body: bytes | dict[str, Any], path: str = "/api/run") -> str:
    """The sentence of a refusal; nothing was written, and the server answers on."""
    status, answer = server.post(body, path)
    told = answer.get("error", answer)
    assert (status, told["code"]) == (400, "bad_params"), answer
    assert told.get("status", "refused") == "refused"
    assert told["message"].endswith(".")
    assert 10 < len(told["message"]) < 500
    assert not (server.workspace / "evil.txt").exists()
    return str(told["message"])


def body(params: str = json.dumps(PARAMS), **more: Any) -> bytes:
    """A request to write a file, with its parameters in a spelling of one's own."""
    return (
        json.dumps({**WRITE, **more}).encode()[:-1] + b', "params": ' + params.encode("utf-8", "surrogatepass") + b"}"
    )


def test_the_request_is_good_when_nothing_is_wrong_with_it(server: Server) -> None:
    status, answer = server.post(body('{"path": "good.txt", "content": "x"}'))
    assert (status, answer["code"]) == (200, "ok")
    assert (server.workspace / "good.txt").read_text() == "x"


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b" ",
        b"{",
        b"null",
        b"[]",
        b'["file/write"]',
        b'"file/write"',
        b"1",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b"\x00",
        b'{"command": "file/write"',
        b'{"command": "file/write"} trailing',
        b'{"command": "file/write"}{"command": "file/write"}',
        b'{"command": "\xff"}',
        b'{"command": "\\ud800"}',
        b'{"command": null}',
        b'{"command": ["file/write"]}',
        b'{"command": {"$ne": ""}}',
        b'{"command": 1}',
        b'{"command": "file/write", "params": []}',
        b'{"command": "file/write", "params": "x"}',
        b'{"command": "file/write", "words": {"a": 1}}',
        b'{"command": "file/write", "words": [["a"]]}',
        b'{"command": "file/write", "words": ["a", 1]}',
        b'{"command": "file/write", "room": 1}',
        b'{"command": "file/write", "dryRun": "yes"}',
        b'{"command": "file/write", "dryRun": 1}',
        b'{"command": "file/write", "command": "data/list"}',
        b'{"command": "file/write", "\\u0063ommand": "data/list"}',
        b'{"Command": "file/write"}',
        b'{"COMMAND": "file/write"}',
        b'{"Method": "file/write"}',
        '{"command": "file/write", "paramſ": {}}'.encode(),
        '{"cοmmand": "file/write"}'.encode(),
        b'{"command ": "file/write"}',
        b'{"command\\u0000": "file/write"}',
        b'{"command": "file/write", "params": {}, "words": []}',
    ],
    ids=ascii,
)
def test_a_body_that_is_no_request(wrong: bytes, server: Server) -> None:
    refused(server, wrong)


@pytest.mark.parametrize("field", PRIVILEGED)
def test_a_request_says_nothing_about_its_own_rights(field: str, server: Server) -> None:
    for value in (True, "true", 1, "root", {}, None):
        assert "unknown field" in refused(server, body(**{field: value}))
        assert "Unknown parameter" in refused(server, body(json.dumps({**PARAMS, field: value})))


@pytest.mark.parametrize("field", PRIVILEGED)
def test_a_call_that_needs_approval_cannot_bring_its_own(field: str, server: Server) -> None:
    refused(server, body(room="general", **{field: True}))
    refused(server, body(json.dumps({**PARAMS, field: True}), room="general"))
    status, answer = server.post(body(room="general", speakAs=f"a{PRIVILEGED.index(field)}"))
    assert (status, answer["status"]) == (202, "parked")
    assert not (server.workspace / "evil.txt").exists()


@pytest.mark.parametrize(
    "params",
    [
        '{"path": "evil.txt"}',
        '{"path": "evil.txt", "content": 1}',
        '{"path": "evil.txt", "content": null}',
        '{"path": "evil.txt", "content": ["x"]}',
        '{"path": ["evil.txt"], "content": "x"}',
        '{"path": {"toString": "evil.txt"}, "content": "x"}',
        '{"path": "evil.txt", "content": NaN}',
        '{"path": "evil.txt", "content": Infinity}',
        '{"path": "evil.txt", "content": 1e999}',
        '{"path": "evil.txt", "content": "x", "path": "other.txt"}',
        '{"path": "evil.txt", "content": "\\ud800"}',
        '{"path": "evil.txt", "content": "\ud800"}',
        '{"path": "evil.txt", "content": "x", "pаth": "other.txt"}',
        '{"Path": "evil.txt", "content": "x"}',
        '{"path": "evil.txt", "content": "x", "0": 1}',
        '{"path": "evil.txt", "content": ' + "[" * 1_000 + "]" * 1_000 + "}",
        '{"path": "evil.txt", "content": ' + "[" * 1_000_000 + "}",
        '{"path": "evil.txt", "content": ' + "9" * 1_000_000 + "}",
        '{"path": "evil.txt", "content": "' + "x" * 20_000_000 + '"}',
        '{"path": "' + "x" * 20_000_000 + '", "content": "x"}',
        '{"' + "x" * 20_000_000 + '": 1}',
        '{"path": "evil.txt", "content": "' + "x" * 30_000_000 + '"}',
        "{" + ", ".join(f'"k{n}": {n}' for n in range(200_000)) + "}",
    ],
    ids=lambda params: ascii(params[:60]),
)
def test_parameters_that_are_no_parameters(params: str, server: Server) -> None:
    refused(server, body(params))


@pytest.mark.parametrize("name", ["evil.txt\x00.png", "\x00", "a/\x00/evil.txt"], ids=ascii)
def test_a_nul_in_a_path_is_refused_by_the_command(name: str, server: Server) -> None:
    status, answer = server.post(body(json.dumps({"path": name, "content": "x"})))
    assert answer["status"] in ("refused", "failed"), answer
    assert answer["code"] == "bad_params", answer
    assert status == 400
    assert not (server.workspace / "evil.txt").exists()


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        ({"command": "no/such"}, "unknown_command"),
        ({"command": ""}, "unknown_command"),
        ({"command": "file/write\x00"}, "unknown_command"),
        ({"command": "../../etc/passwd"}, "unknown_command"),
        ({"command": "x" * 1_000_000}, "unknown_command"),
        ({**WRITE, "room": "nowhere", "params": PARAMS}, "not_permitted"),
        ({**WRITE, "room": "x" * 1_000_000, "params": PARAMS}, "not_permitted"),
        ({**WRITE, "room": "lax\x00", "params": PARAMS}, "not_permitted"),
        ({**WRITE, "ticket": "nothing", "params": PARAMS}, "not_found"),
        ({**WRITE, "ticket": "x" * 1_000_000, "params": PARAMS}, "not_found"),
        ({**WRITE, "ticket": "' OR 1=1 --", "params": PARAMS}, "not_found"),
        ({**WRITE, "speakAs": "owner", "params": PARAMS}, "bad_params"),
        ({**WRITE, "speakAs": "Tester", "params": PARAMS}, "bad_params"),
        ({**WRITE, "speakAs": "x" * 1_000_000, "params": PARAMS}, "bad_params"),
        ({**WRITE, "token": "nothing", "params": PARAMS}, "not_authenticated"),
        ({**WRITE, "token": "e30.e30.e30", "params": PARAMS}, "not_authenticated"),
        ({**WRITE, "token": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJvd25lciJ9.", "params": PARAMS}, "not_authenticated"),
        ({**WRITE, "token": "\x00", "params": PARAMS}, "not_authenticated"),
    ],
    ids=lambda part: ascii(part)[:70] if isinstance(part, dict) else "",
)
def test_a_request_for_what_is_not_there(ask: dict[str, Any], code: str, server: Server) -> None:
    _, answer = server.post(ask)
    assert (answer["status"], answer["code"]) == ("refused", code), answer
    assert len(json.dumps(answer)) < 3_000, "a refusal repeats no more of a request than it needs"
    assert not (server.workspace / "evil.txt").exists()


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
        b"POST\r\n\r\n",
        b"POST /api/run HTTP/9.9\r\n\r\n",
        b"POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST /api/run HTTP/1.1\r\nHost: doorward\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"POST /api/run HTTP/1.1\r\nHost: doorward\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b'POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Length: 500\r\n\r\n{"command": "file/wr',
        b"GET /\xff\xfe HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n",
        b"GET /api/run HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n",
        b"DELETE /health HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n",
    ],
    ids=lambda request: ascii(request[:50]),
)
def test_what_is_no_http_harms_nobody(request_: bytes, server: Server) -> None:
    assert not server.raw(request_, half=True).startswith(b"HTTP/1.1 200")
    assert server.lives()


@pytest.mark.parametrize(
    "more",
    [
        {"command": "\ud800"},
        {"room": "\ud800"},
        {"by": "\ud800"},
        {"token": "\ud800"},
        {"ticket": "\ud800"},
        {"session": "\ud800"},
        {"response": "\ud800"},
        {"params": {"collection": "\ud800"}},
        {"params": {"\ud800": "rooms"}},
        {"params": {"collection": "rooms", "filter": {"\ud800": [{"a": "\udfff"}]}}},
        {"args": (("collection", "\ud800"),)},
        {"args": (("\ud800", "rooms"),)},
        {"params": {"collection": "rooms"}, "args": (("collection", "rooms"),)},
    ],
    ids=ascii,
)
async def test_half_a_character_in_any_part_is_an_outcome_and_a_record(more: dict[str, Any], driver: Any) -> None:
    """A door that lets such text in gets a refusal from the gate, and the next caller gets an answer."""
    given = {"command": "data/list", "params": None if "args" in more else {"collection": "rooms"}, **more}
    outcome = await driver.ask(given.pop("command"), **given)
    json.dumps(outcome.message).encode()
    rows = await driver.ledger()
    assert rows[-1]["status"] == outcome.status
    assert (await driver.ask("data/list", by="next", params={"collection": "rooms"})).status == "done"
    if not {"session", "response"} & set(more):
        assert outcome.status == "refused"


def test_a_body_that_never_ends_is_answered_while_others_are_served(
    server: Server, stalled: list[socket.socket]
) -> None:
    """Ten seconds is what a body may take to come; meanwhile the server answered everybody else in this file."""
    for number in range(20):
        assert server.post(body(json.dumps({"path": f"meanwhile-{number}.txt", "content": "x"})))[0] == 200
    for sock in stalled:
        answer = read(sock)
        assert answer.startswith(b"HTTP/1.1 400"), answer
        assert b"was incomplete after 10 s" in answer
    assert not (server.workspace / "evil.txt").exists()
