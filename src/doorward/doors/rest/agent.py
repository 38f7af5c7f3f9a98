"""`POST /api/agent/ai`: the keeper over HTTP, with a single answer or a stream of its steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.core.errors import DEFECT, Broken
from doorward.core.model import Outcome
from doorward.core.model import Request as Asked
from doorward.doors.http.call_stream import JSON_LINES, NoticeBuffer
from doorward.doors.rest import request_reader
from doorward.doors.rest.bodies import AgentRequest
from doorward.doors.rest.commands import parse_body
from doorward.doors.rest.gate_client import DOOR, GateClient, json_response, outcome_response
from doorward.doors.rest.idempotency import IdempotencyKeys
from doorward.doors.rest.sse import EventStreamResponse, StreamSlots, encode_event, principal_of
from doorward.gate.executions.notices import Notice, StartedNotice, StepNotice

log = logging.getLogger(__name__)

COMMAND = "agent/ask"
_encode = msgspec.json.Encoder().encode

EventEncoder = Callable[[str, dict[str, Any]], bytes]


class AgentEndpoint:
    def __init__(self, governed: GateClient, once: IdempotencyKeys, places: StreamSlots) -> None:
        self._governed = governed
        self._gate = governed.gate
        self._once = once
        self._slots = places

    async def ai(self, request: Request) -> Response:
        request_reader.read_query(request, [])
        credential = await self._governed.authenticate(request, COMMAND)
        body = await request_reader.read_json_body(request)
        given = parse_body(body, AgentRequest)
        named = {"prompt": given.prompt, "session": given.session_id, "model": given.model, "ticket": given.ticket}
        params = {name: value for name, value in named.items() if value}
        asked = Asked(command=COMMAND, credential=credential, door=DOOR, room=given.room, params=params)
        form = request_reader.negotiate_format(request, [request_reader.JSON, request_reader.EVENT_STREAM, JSON_LINES])
        if form == request_reader.JSON:
            return await self._once.respond(
                request, asked, body, lambda one, watch: self._governed.run(request, one, watch), _to_response
            )
        self._once.refuse_key(request)
        who = principal_of(self._gate.caller(credential))
        if form == JSON_LINES:
            return EventStreamResponse(
                lambda: self._stream_answer(asked, _encode_line), self._slots, who, JSON_LINES, b"\n"
            )
        return EventStreamResponse(lambda: self._stream_answer(asked, encode_event), self._slots, who)

    async def _stream_answer(self, asked: Asked, frame: EventEncoder) -> AsyncGenerator[bytes, None]:
        """Stream the keeper's steps, then its answer. If the client disconnects, the call is cancelled."""
        feed = NoticeBuffer(lambda notice: _encode_notice(notice, frame))
        working = asyncio.ensure_future(self._gate.handle(asked, feed.put))
        working.add_done_callback(lambda _: feed.close())
        try:
            while pieces := await feed.take():
                yield pieces
            if not working.cancelled():
                yield _encode_end(working, frame)
        finally:
            working.cancel()


def _to_response(outcome: Outcome | None) -> Response:
    """The keeper's answer. A refusal of the gate becomes a problem, as everywhere."""
    if outcome is not None and _is_answer(outcome):
        return json_response(outcome.result, call=outcome.call)
    return outcome_response(outcome, whole=True)


def _is_answer(outcome: Outcome) -> bool:
    """Whether the keeper gave an answer. It also gives one when it reaches a limit."""
    return outcome.status in ("done", "failed") and isinstance(outcome.result, dict) and "toolCalls" in outcome.result


def _encode_notice(notice: Notice, frame: EventEncoder) -> bytes:
    """Encode the keeper's steps only; program output is part of their results."""
    if isinstance(notice, StepNotice):
        return frame(notice.kind, {"type": notice.kind, **notice.data})
    if isinstance(notice, StartedNotice):
        return frame("started", {"type": "started", "execution": notice.execution, "queued": notice.queued})
    return b""


def _encode_end(working: asyncio.Future[Outcome], frame: EventEncoder) -> bytes:
    try:
        outcome = working.result()
    except Exception:
        log.exception("a request failed with a defect")
        broken = Broken(DEFECT)
        return frame("error", {"type": "error", "code": broken.code, "detail": broken.message})
    if _is_answer(outcome):
        return frame("answer", {"type": "answer", "call": outcome.call, "answer": outcome.result})
    if outcome.status == "parked":
        return frame("outcome", {"type": "outcome", "outcome": outcome})
    told = {"code": outcome.code, "detail": outcome.message, "hint": outcome.hint, "call": outcome.call}
    return frame("error", {"type": "error", **{key: value for key, value in told.items() if value}})


def _encode_line(_: str, data: dict[str, Any]) -> bytes:
    return _encode(data) + b"\n"
