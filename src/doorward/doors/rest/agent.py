"""`POST /api/agent/ai`: the keeper over HTTP, with a single answer or a stream of its steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.doors.live import JSON_LINES, Feed
from doorward.doors.rest import reading
from doorward.doors.rest.asking import read
from doorward.doors.rest.bodies import Ai
from doorward.doors.rest.governed import DOOR, Governed, answered, as_json
from doorward.doors.rest.once import Once
from doorward.doors.rest.sse import EventStream, Places, framed, principal_of
from doorward.errors import DEFECT, Broken
from doorward.executions.notices import Notice, Started, Step
from doorward.model import Outcome
from doorward.model import Request as Asked

log = logging.getLogger(__name__)

COMMAND = "agent/ask"
_encode = msgspec.json.Encoder().encode

Framing = Callable[[str, dict[str, Any]], bytes]


class Agent:
    def __init__(self, governed: Governed, once: Once, places: Places) -> None:
        self._governed = governed
        self._gate = governed.gate
        self._once = once
        self._places = places

    async def ai(self, request: Request) -> Response:
        reading.query(request, [])
        credential = await self._governed.vouched(request, COMMAND)
        body = await reading.body(request)
        given = read(body, Ai)
        named = {"prompt": given.prompt, "session": given.session_id, "model": given.model, "ticket": given.ticket}
        params = {name: value for name, value in named.items() if value}
        asked = Asked(command=COMMAND, credential=credential, door=DOOR, room=given.room, params=params)
        form = reading.accepts(request, [reading.JSON, reading.EVENT_STREAM, JSON_LINES])
        if form == reading.JSON:
            return await self._once.answer(
                request, asked, body, lambda one, watch: self._governed.outcome(request, one, watch), _answered
            )
        self._once.not_here(request)
        who = principal_of(self._gate.caller(credential))
        if form == JSON_LINES:
            return EventStream(lambda: self._told(asked, _line), self._places, who, JSON_LINES, b"\n")
        return EventStream(lambda: self._told(asked, framed), self._places, who)

    async def _told(self, asked: Asked, frame: Framing) -> AsyncGenerator[bytes, None]:
        """Stream the keeper's steps, then its answer. If the client disconnects, the call is cancelled."""
        feed = Feed(lambda notice: _step(notice, frame))
        working = asyncio.ensure_future(self._gate.handle(asked, feed.put))
        working.add_done_callback(lambda _: feed.close())
        try:
            while pieces := await feed.take():
                yield pieces
            if not working.cancelled():
                yield _end(working, frame)
        finally:
            working.cancel()


def _answered(outcome: Outcome | None) -> Response:
    """The keeper's answer. A refusal of the gate becomes a problem, as everywhere."""
    if outcome is not None and _is_answer(outcome):
        return as_json(outcome.result, call=outcome.call)
    return answered(outcome, whole=True)


def _is_answer(outcome: Outcome) -> bool:
    """Whether the keeper gave an answer. It also gives one when it reaches a limit."""
    return outcome.status in ("done", "failed") and isinstance(outcome.result, dict) and "toolCalls" in outcome.result


def _step(notice: Notice, frame: Framing) -> bytes:
    """Encode the keeper's steps only; program output is part of their results."""
    if isinstance(notice, Step):
        return frame(notice.kind, {"type": notice.kind, **notice.data})
    if isinstance(notice, Started):
        return frame("started", {"type": "started", "execution": notice.execution, "queued": notice.queued})
    return b""


def _end(working: asyncio.Future[Outcome], frame: Framing) -> bytes:
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


def _line(_: str, data: dict[str, Any]) -> bytes:
    return _encode(data) + b"\n"
