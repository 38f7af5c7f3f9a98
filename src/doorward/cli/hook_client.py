"""The process behind `doorward hook`: passes a client's hook input to the server and prints the answer.

A client starts it before every tool call, so it uses only what Python has loaded anyway. Every fault ends with exit
code 2, which blocks the tool call in all clients.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed knows only `signal`, which loads more
import _socket
import os

_BLOCKED = 2
_MAX_BYTES = 16 * 1024 * 1024
_GRACE_SECONDS = 10
"""Seconds for an answer, besides the time that a person may take to approve."""
_OPTIONS = {"room": "general", "mode": "judge", "wait": "60", "home": ""}
_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


class _Fault(Exception):
    """The call cannot be judged; the message says why."""


def main(words: list[str]) -> int:
    """Print the answer and return the exit code. The reason for a block goes to standard error."""
    try:
        client, options = _parse_words(words)
        _signal.signal(_signal.SIGALRM, _stop)
        _signal.alarm(int(options["wait"]) + _GRACE_SECONDS)
        answer = _ask_server(client, options, _read_input())
    except _Fault as fault:
        return _block(str(fault))
    except Exception as error:  # noqa: BLE001 - whatever fails, the tool must not run
        return _block(f"{type(error).__name__}: {error}")
    os.write(1, answer + b"\n")
    return 0


def _block(reason: str) -> int:
    os.write(2, f"Doorward blocked this call: {reason}\n".encode(errors="replace"))
    return _BLOCKED


def _stop(*_: object) -> None:
    os._exit(_block("no decision arrived in time."))


def _parse_words(words: list[str]) -> tuple[str, dict[str, str]]:
    options = dict(_OPTIONS)
    client = words[0] if words and not words[0].startswith("-") else ""
    for word in words[1:]:
        key, given, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not given or key not in options:
            raise _Fault(f"doorward hook takes CLIENT and --room=, --mode=, --wait=, --home=; given {word!r}.")
        options[key] = value
    if not client:
        raise _Fault("doorward hook needs the name of a client, such as claude-code.")
    if not options["wait"].isdigit():
        raise _Fault(f"--wait takes whole seconds; given {options['wait']!r}.")
    return client, options


def _read_input() -> bytes:
    data = bytearray()
    while part := os.read(0, 65_536):
        data += part
        if len(data) > _MAX_BYTES:
            raise _Fault(f"the hook's input is larger than {_MAX_BYTES} bytes.")
    return bytes(data)


def _ask_server(client: str, options: dict[str, str], body: bytes) -> bytes:
    query = "&".join(f"{key}={_quote(options[key])}" for key in ("room", "mode", "wait"))
    head = f"POST /api/hooks/{_quote(client)}?{query} HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with _connect(options["home"]) as sock:
        sock.sendall(head.encode() + body)
        response = bytearray()
        while part := sock.recv(65_536):
            response += part
    fields, end, answer = bytes(response).partition(b"\r\n\r\n")
    lines = fields.lower().split(b"\r\n")
    length = next((line[15:].strip() for line in lines if line.startswith(b"content-length:")), b"")
    if not end or length != str(len(answer)).encode():
        raise _Fault("the server closed the connection before its answer was complete.")
    if not lines[0].startswith(b"http/1.1 200 "):
        raise _Fault(answer.decode(errors="replace"))
    return answer


def _connect(home: str) -> _Connection:
    folder = home or os.environ.get("DOORWARD_HOME") or os.path.expanduser("~/.doorward")
    sock = _Connection(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        os.chdir(folder)  # the path of a socket must be short
        sock.connect("doorward.sock")
    except OSError:
        raise _Fault(f"Doorward is not running for {folder}. Start it with: doorward up") from None
    return sock


class _Connection(_socket.socket):
    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _quote(text: str) -> str:
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in text.encode())
