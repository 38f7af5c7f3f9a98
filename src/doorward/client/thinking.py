"""Keeper operations of the client: requests in plain words."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.client import replies
from doorward.client.body import encoded, text
from doorward.client.flows import Channel, Emit, Emitting, Flow, Send
from doorward.client.operation import operation, streaming
from doorward.client.session import SILENCE, Session, lost, posted
from doorward.errors import Unreachable

_PATH = "/api/agent/ai"
_LONGEST = 930.0
"""Timeout in seconds, above the keeper's own maximum."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call of the keeper."""

    name: str
    """`run_command`, `read_file` or `write_file`."""
    input: dict[str, Any]
    output: str
    status: str
    execution: str = ""
    ticket: str = ""
    """The approval that it is waiting for, if any."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The keeper's answer, with every tool call it made."""

    success: bool
    response: str
    tool_calls: list[ToolCall]
    error: str = ""
    """Why the request failed; empty on success."""
    ended: str = "answered"
    session_id: str = ""
    """Pass it as `session` to continue."""
    model: str = ""
    turns: int = 0
    notes: list[str] = []

    @property
    def ticket(self) -> str:
        """The approval that the answer is waiting for; empty when there is none."""
        return next((one.ticket for one in self.tool_calls if one.ticket), "") if self.ended == "waiting" else ""


class Doing(msgspec.Struct, frozen=True):
    """One step of the keeper's work."""

    kind: str
    """Such as `thinking`, `tool_started`, `tool_finished` and `text`."""
    data: dict[str, Any]


class Thinking(Session):
    @operation
    def ai(
        self, prompt: str = "", /, *, session: str = "", room: str | None = None, model: str = "", ticket: str = ""
    ) -> Flow[Answer]:
        """Ask the keeper in plain words: `ai("how many rooms do we have").response`.

        A failed answer is not raised; its `error` says why it failed. An answer that is waiting for approval has a
        `ticket`. Once it is approved, pass the same `session` and the `ticket` to continue.
        """
        send = posted(_PATH, self._wanted(prompt, session, room, model, ticket))
        answer = yield from self._ask(msgspec.structs.replace(send, timeout=_LONGEST))
        return _answer(replies.value(answer))

    @streaming
    def ai_stream(
        self, prompt: str = "", /, *, session: str = "", room: str | None = None, model: str = "", ticket: str = ""
    ) -> Emitting[Doing | Answer]:
        """Ask the keeper and iterate over its steps; the answer comes last. Leaving early stops the keeper."""
        body = encoded(self._wanted(prompt, session, room, model, ticket))
        channel = yield from self._ask(Send(method="POST", path=_PATH, body=body, listen=True, timeout=SILENCE))
        if not isinstance(channel, Channel):
            yield Emit(_answer(replies.value(channel)))
            return
        while True:
            event = yield from self._next(channel)
            if event is None:
                raise lost(self._url.url, "it ended too early")
            said = replies.read(event)
            if event.name == "answer":
                yield Emit(_answer(said.get("answer")))
                return
            yield Emit(Doing(event.name, {key: value for key, value in said.items() if key != "type"}))

    def _wanted(self, prompt: str, session: str, room: str | None, model: str, ticket: str) -> dict[str, Any]:
        named = {"sessionId": session, "model": model, "ticket": ticket, "room": self._in(room)}
        given = {name: text(value, f"`{name}`", "house") for name, value in named.items() if value}
        return {"prompt": text(prompt, "`prompt`", "how many rooms do we have") if prompt else "", **given}


def _answer(said: Any) -> Answer:
    try:
        return msgspec.convert(said, Answer)
    except msgspec.ValidationError as error:
        raise Unreachable(f"The answer is not in the keeper's format: {error}.") from error
