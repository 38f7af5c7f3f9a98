"""Handles messages that are not responses: a server's notifications and its own requests."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from doorward.core.errors import DoorwardError
from doorward.core.escape_invisible import escape_invisible
from doorward.core.wire import frames, meta
from doorward.core.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from doorward.core.wire.frames import WireError, WireNotification, WireRequest
from doorward.core.wire.ids import Id
from doorward.upstream import elicitation
from doorward.upstream.calls import CallHooks
from doorward.upstream.pending_requests import PendingRequest
from doorward.upstream.resilience import call_listener

if TYPE_CHECKING:
    from doorward.upstream.session import Session

log = logging.getLogger(__name__)

_LIST_CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}
_MAX_QUESTIONS = 10
"""Limit on questions during one call, so that a server cannot ask forever."""
_METHODS_WITH_QUESTIONS = frozenset({"tools/call", "prompts/get", "resources/read"})
_LONGEST = 2_000
_encode = msgspec.json.Encoder().encode


class NotificationHandler:
    def __init__(self, session: Session, sampling: bool) -> None:
        self._session = session
        self._sampling = sampling
        self._open_questions: dict[Id, asyncio.Task[None]] = {}

    def handle(self, message: WireRequest | WireNotification, answering: int | None) -> None:
        if type(message) is WireRequest:
            self._handle_request(message, answering)
        else:
            self._handle_notification(message.method, message.params, answering)

    def _handle_notification(self, method: str, params: dict[str, Any], answering: int | None) -> None:
        session = self._session
        if method == "notifications/progress":
            self._handle_progress(params)
        elif method == "notifications/message":
            self._handle_log(params, answering)
        elif method in _LIST_CHANGES:
            if self._is_for_us(params):
                session.listener.changed(_LIST_CHANGES[method])
        elif method == "notifications/resources/updated":
            if self._is_for_us(params) and type(params.get("uri")) is str:
                session.listener.updated(params["uri"])
        elif method == "notifications/cancelled":
            self._handle_cancelled(params.get("requestId"))

    def _is_for_us(self, params: dict[str, Any]) -> bool:
        """Whether it belongs to our subscription, if it names one."""
        about = params.get("_meta")
        stream = about.get(meta.SUBSCRIPTION) if type(about) is dict else None
        return stream is None or self._session.get_request(stream) is not None

    def _handle_progress(self, params: dict[str, Any]) -> None:
        waiting = self._session.get_request(params.get("progressToken"))
        if waiting is None or waiting.hooks is None or waiting.hooks.progress is None:
            return
        done, total, message = params.get("progress"), params.get("total"), params.get("message")
        fraction = None
        if type(done) in (int, float) and type(total) in (int, float) and total > 0:  # type: ignore[operator]
            fraction = min(max(done / total, 0.0), 1.0)  # type: ignore[operator]
        text = self._session.secret_mask.mask_text(message) if type(message) is str else ""
        call_listener(waiting.hooks.progress, fraction, text)

    def _handle_log(self, params: dict[str, Any], answering: int | None) -> None:
        level, data = params.get("level"), params.get("data")
        if level not in meta.LOG_LEVELS:
            return self._session.record_fault(
                f"a log message without a valid level; valid: {', '.join(meta.LOG_LEVELS)}"
            )
        text = data if type(data) is str else _encode(data)[: 4 * _LONGEST].decode("utf-8", "replace")
        self._session.listener.noted(level, text)
        waiting = self._find_call(answering)
        if waiting is not None and waiting.hooks is not None and waiting.hooks.log is not None:
            call_listener(waiting.hooks.log, level, self._session.secret_mask.mask_text(text, _LONGEST))
        return None

    def _handle_cancelled(self, id: Any) -> None:
        """The server cancels its own question, or ends the subscription stream."""
        task = self._open_questions.pop(id, None) if type(id) in (int, str) else None
        if task is not None:
            task.cancel()
        elif self._session.is_stateless:
            waiting = self._session.get_request(id)
            if waiting is not None and waiting.method == "subscriptions/listen" and not waiting.answer.done():
                waiting.answer.set_result({})

    def _handle_request(self, request: WireRequest, answering: int | None) -> None:
        session = self._session
        if session.is_stateless:  # since 2026-07-28 servers send no requests; they ask through their results
            return session.record_fault(
                f"a request ({escape_invisible(request.method[:80])}), which this version does not allow"
            )
        if request.method == "ping":
            return self._send(frames.answer(request.id, b"{}"))
        if request.method not in (elicitation.ELICIT, elicitation.SAMPLE):
            sentence = f"Unknown method {request.method[:80]!r}. This client answers elicitation, sampling and ping."
            return self._send(frames.failure(request.id, METHOD_NOT_FOUND, sentence))
        if request.id in self._open_questions:
            return self._send(frames.failure(None, INVALID_REQUEST, "A request with this id is still open."))
        calls = self._find_calls(answering, request.method)
        if any(one.questions >= _MAX_QUESTIONS for one in calls):
            sentence = f"One call may ask at most {_MAX_QUESTIONS} questions."
            return self._send(frames.failure(request.id, INVALID_REQUEST, sentence))
        if not calls and len(self._open_questions) >= _MAX_QUESTIONS:
            return self._send(frames.failure(request.id, INVALID_REQUEST, "Too many requests are open."))
        hooks = next((one.hooks for one in reversed(calls) if one.hooks is not None and one.hooks.ask), None)
        if hooks is None:
            self._report_unasked(request.method, calls or ([] if answering is not None else self._open_calls()))
        task = asyncio.get_running_loop().create_task(self._answer_question(request, hooks))
        self._open_questions[request.id] = task
        for one in calls:
            one.questions += 1
            one.asking = one.asking or set()
            one.asking.add(task)
        task.add_done_callback(lambda task: self._question_done(request, task, calls))
        return None

    async def _answer_question(self, request: WireRequest, hooks: CallHooks | None) -> None:
        try:
            result = await elicitation.answer_question(
                self._session, request.method, request.params, hooks, self._sampling
            )
            frame = frames.answer(request.id, _encode(result))
        except WireError as error:
            frame = error.frame(request.id)
        except DoorwardError as error:
            frame = frames.failure(request.id, elicitation.REFUSED_CODE, error.message)
        except Exception:
            log.exception("a server's question could not be asked")
            frame = frames.failure(request.id, INTERNAL_ERROR, "The question could not be asked.")
        self._send(frame)

    def _question_done(self, request: WireRequest, task: asyncio.Task[None], calls: list[PendingRequest]) -> None:
        """The question was answered, or its calls ended. The server always gets a response; without one it might wait
        forever and block later calls."""
        if self._open_questions.get(request.id) is task:
            del self._open_questions[request.id]
            if task.cancelled():
                self._send(elicitation.answer_expired(request))
        for one in calls:
            if one.asking:
                one.asking.discard(task)
                one.deadline = asyncio.get_running_loop().time() + one.patience

    def _send(self, frame: bytes) -> None:
        try:
            self._session.connection.send(frame)
        except DoorwardError as error:
            self._session.listener.noted("fault", f"an answer could not be sent: {error.message}")

    def _find_call(self, answering: int | None) -> PendingRequest | None:
        """The call that a message belongs to: the one on whose stream it arrived or, without streams, the only one.

        With several running calls the right one is unknown, and the wrong one must not see the message.
        """
        if answering is not None:
            return self._session.get_request(answering)
        calls = self._open_calls()
        return calls[0] if len(calls) == 1 else None

    def _find_calls(self, answering: int | None, method: str) -> list[PendingRequest]:
        """The calls that a question may belong to, oldest first: one, or several when all are for the same person.

        So a question cannot reach the wrong person. It stays open until the last of these calls ends. A question for a
        model belongs to one call, because two agents of one person do not share their context.
        """
        belonging = self._find_call(answering)
        if belonging is not None or answering is not None or method != elicitation.ELICIT:
            return [belonging] if belonging is not None else []
        calls = self._open_calls()
        persons = {one.hooks.person if one.hooks is not None else None for one in calls}
        return calls if len(persons) == 1 and None not in persons else []

    def _report_unasked(self, method: str, calls: list[PendingRequest]) -> None:
        """Report, to the affected calls and in the log, that a question was not asked."""
        what = "a question" if method == elicitation.ELICIT else "for a model's answer"
        why = "nobody can be asked in this call" if len(calls) == 1 else "it belongs to no running call"
        if len(calls) > 1:
            why = "calls of several people are running and the question does not name its call"
        sentence = f"The server {self._session.name} asked {what}, but nobody was asked: {why}."
        self._session.listener.noted("fault", sentence)
        for one in calls:
            if one.hooks is not None and not one.hooks.remarks:
                one.hooks.remarks.append(sentence)
                if one.hooks.log is not None:
                    call_listener(one.hooks.log, "warning", sentence)

    def _open_calls(self) -> list[PendingRequest]:
        """The calls in which a server may ask questions, oldest first."""
        return [
            one
            for one in self._session.pending_calls
            if one.method in _METHODS_WITH_QUESTIONS and not one.answer.done()
        ]

    def stop(self) -> None:
        """Cancel all open questions."""
        thinking, self._open_questions = self._open_questions, {}
        for task in thinking.values():
            task.cancel()
