"""Keeper operations of the client: requests in plain words."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.client import responses
from doorward.client.descriptors import operation, stream_operation
from doorward.client.effects import Emit, EmittingFlow, EventChannel, Flow, Send
from doorward.client.encoding import encode_body, require_text
from doorward.client.session import STREAM_TIMEOUT, ClientSession, build_request, connection_lost_error
from doorward.core.errors import Unreachable

_PATH = "/api/agent/ai"
_TIMEOUT = 930.0
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


class KeeperStep(msgspec.Struct, frozen=True):
    """One step of the keeper's work."""

    kind: str
    """Such as `thinking`, `tool_started`, `tool_finished` and `text`."""
    data: dict[str, Any]


class KeeperOperations(ClientSession):
    @operation
    def ai(
        self, prompt: str = "", /, *, session: str = "", room: str | None = None, model: str = "", ticket: str = ""
    ) -> Flow[Answer]:
        """Ask the keeper in plain words: `ai("how many rooms do we have").response`.

        A failed answer is not raised; its `error` says why it failed. An answer that is waiting for approval has a
        `ticket`. Once it is approved, pass the same `session` and the `ticket` to continue.
        """
        send = build_request(_PATH, self._build_question(prompt, session, room, model, ticket))
        answer = yield from self._ask(msgspec.structs.replace(send, timeout=_TIMEOUT))
        return _decode_answer(responses.decode_value(answer))

    @stream_operation
    def ai_stream(
        self, prompt: str = "", /, *, session: str = "", room: str | None = None, model: str = "", ticket: str = ""
    ) -> EmittingFlow[KeeperStep | Answer]:
        """Ask the keeper and iterate over its steps; the answer comes last. Leaving early stops the keeper."""
        body = encode_body(self._build_question(prompt, session, room, model, ticket))
        channel = yield from self._ask(Send(method="POST", path=_PATH, body=body, listen=True, timeout=STREAM_TIMEOUT))
        if not isinstance(channel, EventChannel):
            yield Emit(_decode_answer(responses.decode_value(channel)))
            return
        while True:
            event = yield from self._next(channel)
            if event is None:
                raise connection_lost_error(self._url.url, "it ended too early")
            said = responses.read_event(event)
            if event.name == "answer":
                yield Emit(_decode_answer(said.get("answer")))
                return
            yield Emit(KeeperStep(event.name, {key: value for key, value in said.items() if key != "type"}))

    def _build_question(self, prompt: str, session: str, room: str | None, model: str, ticket: str) -> dict[str, Any]:
        named = {"sessionId": session, "model": model, "ticket": ticket, "room": self._resolve_room(room)}
        given = {name: require_text(value, f"`{name}`", "house") for name, value in named.items() if value}
        return {"prompt": require_text(prompt, "`prompt`", "how many rooms do we have") if prompt else "", **given}


def _decode_answer(said: Any) -> Answer:
    try:
        return msgspec.convert(said, Answer)
    except msgspec.ValidationError as error:
        raise Unreachable(f"The answer is not in the keeper's format: {error}.") from error
