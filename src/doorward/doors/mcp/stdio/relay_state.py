"""A relay's state of a session, so that it can continue in another server process: open requests and handshake."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from doorward.core.wire.ids import Id, is_id
from doorward.doors.mcp.stdio import frames
from doorward.doors.mcp.stdio.frames import IdKey, MessageHead

_TOOLS_CALL = "tools/call"
"""The one method that is never repeated, because it may already have changed something."""
_CANCELLED = "notifications/cancelled"
_LISTEN = "subscriptions/listen"
"""A request that stays open as long as the session."""
_LAST_ID = "doorward:last"
"""The id of the relay's own last request: once it is answered, everything before it is answered."""


class OpenRequest(msgspec.Struct, frozen=True):
    """A client request without an answer yet."""

    id: Id
    method: str
    frame: bytes
    """The request itself; empty for a call, which is never repeated."""


class RelayState:
    def __init__(self) -> None:
        self.client = ""
        """The client's own name, once known."""
        self.waiting: deque[bytes] = deque()
        """Messages that are not sent to the server process yet."""
        self._open_requests: dict[IdKey, OpenRequest] = {}
        self._questions: dict[IdKey, Id] = {}
        self._stale: set[IdKey] = set()
        self._opening: dict[str, bytes] = {}
        self._repeated: dict[IdKey, int] = {}
        self.initialized = False

    @property
    def busy(self) -> bool:
        """Whether an answer is missing: to a client request (except a subscription), or to the relay's last request."""
        return bool(self._repeated.get(frames.id_key(_LAST_ID))) or any(
            asked.method != _LISTEN for asked in self._open_requests.values()
        )

    def record_sent(self, head: MessageHead, frame: bytes) -> bool:
        """Record a message to the server process; False if it answers a question that is no longer open."""
        if not self.client:
            self.client = frames.read_agent_name(head)
        key = head.key
        if head.method and key is not None:
            kept = b"" if head.method == _TOOLS_CALL else frame
            self._open_requests[key] = OpenRequest(key[1], head.method, kept)
            self._keep_opening(head, frame)
        elif head.method == _CANCELLED:
            id = frames.read_params(head).get("requestId")
            if is_id(id):  # a cancelled request gets no answer
                self._open_requests.pop(frames.id_key(id), None)
        elif head.method and head.id is msgspec.UNSET:
            self._keep_opening(head, frame)
        elif key is not None:
            self._questions.pop(key, None)
            if key in self._stale:
                self._stale.discard(key)
                return False
        return True

    def record_received(self, head: MessageHead) -> bool:
        """Record a message to the client; False if it answers a request of the relay itself."""
        key = head.key
        if head.method:
            if key is not None:
                self._questions[key] = key[1]
                self._stale.discard(key)
            elif head.method == _CANCELLED:
                id = frames.read_params(head).get("requestId")
                self._questions = {key: one for key, one in self._questions.items() if one != id}
            return True
        if key is None:
            return True
        if self._repeated.get(key):
            self._repeated[key] -= 1
            return False
        self._open_requests.pop(key, None)
        return True

    def replay_opening(self) -> Iterator[bytes]:
        """The messages that restore the session in a new server process. Their answers are for the relay alone."""
        self._repeated.clear()
        for frame in self._opening.values():
            key = frames.peek(frame).key
            if key is not None:
                self._repeated[key] = self._repeated.get(key, 0) + 1
            yield frame

    def last_request(self) -> bytes:
        """The relay's own ping after all client messages: even lines that are not requests are answered before it."""
        self._repeated[frames.id_key(_LAST_ID)] = 1
        return frames.request(_LAST_ID, "ping")

    def take_lost(self) -> tuple[list[OpenRequest], list[Id]]:
        """The server process is gone: returns the calls whose outcome is unknown, and its questions to the client.

        Requests that can be repeated wait for the next server process.
        """
        calls = [asked for asked in self._open_requests.values() if not asked.frame]
        again = [asked.frame for asked in self._open_requests.values() if asked.frame]
        self.waiting.extendleft(reversed(again))
        self._opening = {what: frame for what, frame in self._opening.items() if frame not in again}
        questions = list(self._questions.values())
        self._stale |= set(self._questions)
        self._open_requests.clear()
        self._questions.clear()
        return calls, questions

    def take_unanswered(self) -> list[Id]:
        """No server process can answer: forget all open and waiting requests, and return their ids."""
        heads = [frames.peek(frame) for frame in self.waiting]
        ids = [asked.id for asked in self._open_requests.values()]
        ids += [head.key[1] for head in heads if head.method and head.key is not None]
        self._open_requests.clear()
        self.waiting.clear()
        return ids

    def _keep_opening(self, head: MessageHead, frame: bytes) -> None:
        """Keep the messages that make up a session: its handshake, log level and subscriptions."""
        if head.method in ("initialize", "notifications/initialized", "logging/setLevel"):
            self._opening[head.method] = frame
            self.initialized = "initialize" in self._opening
        elif head.method == "resources/subscribe":
            self._opening[f"resource {frames.read_params(head).get('uri')}"] = frame
        elif head.method == "resources/unsubscribe":
            self._opening.pop(f"resource {frames.read_params(head).get('uri')}", None)
