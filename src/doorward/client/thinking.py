"""Saying in plain words what is wanted: the keeper of the house does it, and answers."""

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
"""Seconds; the keeper itself takes less, however it is set up."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the keeper did."""

    name: str
    """`run_command`, `read_file` or `write_file`."""
    input: dict[str, Any]
    output: str
    status: str
    execution: str = ""
    ticket: str = ""
    """The approval that it waits for, where it does."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the keeper answered, and everything that it did for that."""

    success: bool
    response: str
    tool_calls: list[ToolCall]
    error: str = ""
    """Why it was not done; empty when it was."""
    ended: str = "answered"
    session_id: str = ""
    """Give it again as `session` to go on."""
    model: str = ""
    turns: int = 0
    notes: list[str] = []

    @property
    def ticket(self) -> str:
        """The approval that it waits for; empty when it waits for none."""
        return next((one.ticket for one in self.tool_calls if one.ticket), "") if self.ended == "waiting" else ""


class Doing(msgspec.Struct, frozen=True):
    """What the keeper does at this moment."""

    kind: str
    """Such as `thinking`, `tool_started`, `tool_finished` and `text`."""
    data: dict[str, Any]


class Thinking(Session):
    @operation
    def ai(
        self, prompt: str = "", /, *, session: str = "", room: str | None = None, model: str = "", ticket: str = ""
    ) -> Flow[Answer]:
        """Say what you want: `ai("how many rooms do we have").response`.

        An answer that is no success is not raised: its `error` says why. One that waits for a person has a `ticket`;
        once that is approved, the same `session` and the `ticket` go on with it.
        """
        send = posted(_PATH, self._wanted(prompt, session, room, model, ticket))
        answer = yield from self._ask(msgspec.structs.replace(send, timeout=_LONGEST))
        return _answer(replies.value(answer))

    @streaming
    def ai_stream(
        self, prompt: str = "", /, *, session: str = "", room: str | None = None, model: str = "", ticket: str = ""
    ) -> Emitting[Doing | Answer]:
        """The same, and iterate over what the keeper does meanwhile; its answer comes last. Leaving early stops it."""
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
        return {"prompt": text(prompt, "What you want", "how many rooms do we have") if prompt else "", **given}


def _answer(said: Any) -> Answer:
    try:
        return msgspec.convert(said, Answer)
    except msgspec.ValidationError as error:
        raise Unreachable(f"The answer is not as Doorward's keeper gives one: {error}.") from error
