"""Handles messages that are not responses: a server's notifications and its own requests."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from doorward.errors import DoorwardError
from doorward.upstream import asking
from doorward.upstream.answering import Hooks
from doorward.upstream.guarded import guarded
from doorward.upstream.pending import Waiting
from doorward.visible import visible
from doorward.wire import frames, meta
from doorward.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from doorward.wire.frames import Notification, Request, WireError
from doorward.wire.ids import Id

if TYPE_CHECKING:
    from doorward.upstream.session import Session

log = logging.getLogger(__name__)

_LISTS = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}
_MOST_QUESTIONS = 10
"""Limit on questions during one call, so that a server cannot ask forever."""
_ASKED_IN_A_CALL = frozenset({"tools/call", "prompts/get", "resources/read"})
_LONGEST = 2_000
_encode = msgspec.json.Encoder().encode


class Hearing:
    def __init__(self, session: Session, sampling: bool) -> None:
        self._session = session
        self._sampling = sampling
        self._thinking: dict[Id, asyncio.Task[None]] = {}

    def heard(self, message: Request | Notification, answering: int | None) -> None:
        if type(message) is Request:
            self._asked(message, answering)
        else:
            self._told(message.method, message.params, answering)

    def _told(self, method: str, params: dict[str, Any], answering: int | None) -> None:
        session = self._session
        if method == "notifications/progress":
            self._progressed(params)
        elif method == "notifications/message":
            self._logged(params, answering)
        elif method in _LISTS:
            if self._for_us(params):
                session.news.changed(_LISTS[method])
        elif method == "notifications/resources/updated":
            if self._for_us(params) and type(params.get("uri")) is str:
                session.news.updated(params["uri"])
        elif method == "notifications/cancelled":
            self._withdrawn(params.get("requestId"))

    def _for_us(self, params: dict[str, Any]) -> bool:
        """Whether it belongs to our subscription, if it names one."""
        about = params.get("_meta")
        stream = about.get(meta.SUBSCRIPTION) if type(about) is dict else None
        return stream is None or self._session.call(stream) is not None

    def _progressed(self, params: dict[str, Any]) -> None:
        waiting = self._session.call(params.get("progressToken"))
        if waiting is None or waiting.hooks is None or waiting.hooks.progress is None:
            return
        done, total, message = params.get("progress"), params.get("total"), params.get("message")
        fraction = None
        if type(done) in (int, float) and type(total) in (int, float) and total > 0:  # type: ignore[operator]
            fraction = min(max(done / total, 0.0), 1.0)  # type: ignore[operator]
        text = self._session.discretion.of(message) if type(message) is str else ""
        guarded(waiting.hooks.progress, fraction, text)

    def _logged(self, params: dict[str, Any], answering: int | None) -> None:
        level, data = params.get("level"), params.get("data")
        if level not in meta.LEVELS:
            return self._session.fault(f"a log message without a valid level; valid: {', '.join(meta.LEVELS)}")
        text = data if type(data) is str else _encode(data)[: 4 * _LONGEST].decode("utf-8", "replace")
        self._session.news.noted(level, text)
        waiting = self._belonging(answering)
        if waiting is not None and waiting.hooks is not None and waiting.hooks.log is not None:
            guarded(waiting.hooks.log, level, self._session.discretion.of(text, _LONGEST))
        return None

    def _withdrawn(self, id: Any) -> None:
        """The server cancels its own question, or ends the subscription stream."""
        task = self._thinking.pop(id, None) if type(id) in (int, str) else None
        if task is not None:
            task.cancel()
        elif self._session.modern:
            waiting = self._session.call(id)
            if waiting is not None and waiting.method == "subscriptions/listen" and not waiting.answer.done():
                waiting.answer.set_result({})

    def _asked(self, request: Request, answering: int | None) -> None:
        session = self._session
        if session.modern:  # since 2026-07-28 servers send no requests; they ask through their results
            return session.fault(f"a request ({visible(request.method[:80])}), which this version does not allow")
        if request.method == "ping":
            return self._answer(frames.answer(request.id, b"{}"))
        if request.method not in (asking.ELICIT, asking.SAMPLE):
            sentence = f"Unknown method {request.method[:80]!r}. This client answers elicitation, sampling and ping."
            return self._answer(frames.failure(request.id, METHOD_NOT_FOUND, sentence))
        if request.id in self._thinking:
            return self._answer(frames.failure(None, INVALID_REQUEST, "A request with this id is still open."))
        calls = self._whose(answering, request.method)
        if any(one.questions >= _MOST_QUESTIONS for one in calls):
            sentence = f"One call may ask at most {_MOST_QUESTIONS} questions."
            return self._answer(frames.failure(request.id, INVALID_REQUEST, sentence))
        if not calls and len(self._thinking) >= _MOST_QUESTIONS:
            return self._answer(frames.failure(request.id, INVALID_REQUEST, "Too many requests are open."))
        hooks = next((one.hooks for one in reversed(calls) if one.hooks is not None and one.hooks.ask), None)
        if hooks is None:
            self._unasked(request.method, calls or ([] if answering is not None else self._askable()))
        task = asyncio.get_running_loop().create_task(self._think(request, hooks))
        self._thinking[request.id] = task
        for one in calls:
            one.questions += 1
            one.asking = one.asking or set()
            one.asking.add(task)
        task.add_done_callback(lambda task: self._thought(request, task, calls))
        return None

    async def _think(self, request: Request, hooks: Hooks | None) -> None:
        try:
            result = await asking.answered(self._session, request.method, request.params, hooks, self._sampling)
            frame = frames.answer(request.id, _encode(result))
        except WireError as error:
            frame = error.frame(request.id)
        except DoorwardError as error:
            frame = frames.failure(request.id, asking.REFUSED, error.message)
        except Exception:
            log.exception("a server's question could not be asked")
            frame = frames.failure(request.id, INTERNAL_ERROR, "The question could not be asked.")
        self._answer(frame)

    def _thought(self, request: Request, task: asyncio.Task[None], calls: list[Waiting]) -> None:
        """The question was answered, or its calls ended. The server always gets a response; without one it might wait
        forever and block later calls."""
        if self._thinking.get(request.id) is task:
            del self._thinking[request.id]
            if task.cancelled():
                self._answer(asking.over(request))
        for one in calls:
            if one.asking:
                one.asking.discard(task)
                one.deadline = asyncio.get_running_loop().time() + one.patience

    def _answer(self, frame: bytes) -> None:
        try:
            self._session.connection.send(frame)
        except DoorwardError as error:
            self._session.news.noted("fault", f"an answer could not be sent: {error.message}")

    def _belonging(self, answering: int | None) -> Waiting | None:
        """The call that a message belongs to: the one on whose stream it arrived or, without streams, the only one.

        With several running calls the right one is unknown, and the wrong one must not see the message.
        """
        if answering is not None:
            return self._session.call(answering)
        calls = self._askable()
        return calls[0] if len(calls) == 1 else None

    def _whose(self, answering: int | None, method: str) -> list[Waiting]:
        """The calls that a question may belong to, oldest first: one, or several when all are for the same person.

        So a question cannot reach the wrong person. It stays open until the last of these calls ends. A question for a
        model belongs to one call, because two agents of one person do not share their context.
        """
        belonging = self._belonging(answering)
        if belonging is not None or answering is not None or method != asking.ELICIT:
            return [belonging] if belonging is not None else []
        calls = self._askable()
        persons = {one.hooks.person if one.hooks is not None else None for one in calls}
        return calls if len(persons) == 1 and None not in persons else []

    def _unasked(self, method: str, calls: list[Waiting]) -> None:
        """Report, to the affected calls and in the log, that a question was not asked."""
        what = "a question" if method == asking.ELICIT else "for a model's answer"
        why = "nobody can be asked in this call" if len(calls) == 1 else "it belongs to no running call"
        if len(calls) > 1:
            why = "calls of several people are running and the question does not name its call"
        sentence = f"The server {self._session.name} asked {what}, but nobody was asked: {why}."
        self._session.news.noted("fault", sentence)
        for one in calls:
            if one.hooks is not None and not one.hooks.remarks:
                one.hooks.remarks.append(sentence)
                if one.hooks.log is not None:
                    guarded(one.hooks.log, "warning", sentence)

    def _askable(self) -> list[Waiting]:
        """The calls in which a server may ask questions, oldest first."""
        return [one for one in self._session.calls if one.method in _ASKED_IN_A_CALL and not one.answer.done()]

    def stop(self) -> None:
        """Cancel all open questions."""
        thinking, self._thinking = self._thinking, {}
        for task in thinking.values():
            task.cancel()
