"""Open questions of servers, for a person or for the caller's model, during a call.

A question exists exactly as long as its call. It is kept in memory only, because an answer is useless after the call
or Doorward ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import jsonschema_rs
import msgspec

from doorward.core.clock import Clock
from doorward.core.command import describe_fault, shorten
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.escape_invisible import escape_invisible
from doorward.core.events import Bus, QuestionAnswered, QuestionAsked
from doorward.core.ids import new_id
from doorward.core.model import Call, Caller
from doorward.core.validation import Validator, validator
from doorward.upstream import schema_cost
from doorward.upstream.calls import QuestionAnswer, ServerQuestion

MAX_OPEN = 200
"""Limit on open questions."""
MAX_OPEN_PER_CALL = 5
"""Limit on open questions of one call."""
_LONGEST = 10_000
"""Characters of a question to show; clients accept no more."""
_LARGEST_REQUEST = 1_000_000
"""Size limit in bytes of a request to a model, which is kept until it is answered."""
_LARGEST_FORM = 32_768
"""Size limit in bytes of a question's form."""
Action = Literal["accept", "decline", "cancel"]

_encode = msgspec.json.Encoder().encode


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question, with the facts that decide who may see and answer it."""

    id: str
    server: str
    kind: Literal["form", "url", "sampling"]
    message: str
    """The text for people, with invisible characters escaped."""
    form: dict[str, Any] | None = None
    """JSON Schema of the answer; None when the answer is only yes or no."""
    request: dict[str, Any]
    """The server's request to a model; empty for questions to people."""
    asked_at: float
    call: str
    command: str
    tenant: str
    room: str
    caller: str
    caller_kind: str
    behalf: str

    def concerns(self, caller: Caller) -> bool:
        """Whether this person is the caller, or the one on whose behalf an agent called.

        An agent or program with the same name as a person is somebody else.
        """
        if self.tenant != caller.tenant or caller.kind != "human":
            return False
        return caller.id == self.behalf or (self.caller_kind == "human" and caller.id == self.caller)


class Questions:
    def __init__(self, events: Bus, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._waiting: dict[str, _OpenQuestion] = {}

    async def ask(self, call: Call, wanted: ServerQuestion, tell: Callable[[Question], None]) -> QuestionAnswer:
        """Wait for an answer. `tell` announces the question to those who watch the call.

        A question to a model is declined unless a client takes it at once. A question that cannot be shown to a person
        is declined too.
        """
        question = self._make_question(call, wanted)
        waiting = _OpenQuestion(question, _make_validator(question.form))
        self._waiting[question.id] = waiting
        try:
            tell(question)
            if question.kind == "sampling" and not waiting.taken:
                raise NotPermitted("No client offers its model for sampling.")
            self._publish_asked(question)
            return await waiting.answer
        finally:
            del self._waiting[question.id]
            waiting.over.set_result(None)
            if waiting.answer.cancelled() or not waiting.answer.done():
                waiting.answer.cancel()
                self._publish_answered(question, "gone", "")

    def list_open(self, tenant: str) -> list[Question]:
        """The open questions for people of this tenant, oldest first."""
        return [
            one.question
            for one in self._waiting.values()
            if one.question.tenant == tenant and one.question.kind != "sampling"
        ]

    def get(self, tenant: str, id: str) -> Question:
        found = self._waiting.get(id)
        if found is None or found.question.tenant != tenant:
            raise NotFound(
                f"There is no open question {shorten(id)}; `doorward approvals questions` lists the open ones."
            )
        return found.question

    def answer(self, person: Caller, id: str, action: Action, content: dict[str, Any] | None) -> Question:
        """Record a person's answer. The calling command has checked that this person may answer."""
        question = self.get(person.tenant, id)
        if person.kind != "human" or question.kind == "sampling":
            raise NotPermitted("Only a person may answer, and only a question for people.")
        waiting = self._waiting[question.id]
        given = waiting.validate(content) if action == "accept" else None
        if waiting.answer.done():
            raise Conflict(f"The question {id} has been answered already.")
        waiting.answer.set_result(QuestionAnswer(action=action, content=given))
        self._publish_answered(question, action, person.id)
        return question

    def closed_future(self, id: str) -> asyncio.Future[None]:
        """A future that is done when this question is answered or no longer open."""
        found = self._waiting.get(id)
        if found is not None:
            return found.over
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        over.set_result(None)
        return over

    def take_for_model(self, id: str) -> None:
        """Mark that a client takes this question to its model."""
        if id in self._waiting:
            self._waiting[id].taken = True

    def answer_sampling(self, caller: Caller, id: str, result: dict[str, Any] | None) -> None:
        """Record the sampling result from the calling client; None when the client declines."""
        found = self._waiting.get(id)
        if found is None or found.answer.done():
            return
        question = found.question
        if question.kind != "sampling" or not _is_same_caller(question, caller):
            raise NotPermitted("Only the calling client can return a sampling result.")
        found.answer.set_result(
            QuestionAnswer(action="decline") if result is None else QuestionAnswer(action="accept", content=result)
        )

    def _make_question(self, call: Call, wanted: ServerQuestion) -> Question:
        if len(self._waiting) >= MAX_OPEN:
            raise Conflict(f"{MAX_OPEN} questions are open already, which is the limit.")
        if sum(one.question.call == call.id for one in self._waiting.values()) >= MAX_OPEN_PER_CALL:
            raise Conflict(f"{MAX_OPEN_PER_CALL} questions of this call are open already, which is the limit.")
        caller = call.caller
        return Question(
            id=new_id(),
            server=wanted.server,
            kind=wanted.kind,
            message=_render_message(wanted),
            form=_read_form(wanted),
            request=_model_request(wanted),
            asked_at=self._clock.now(),
            call=call.id,
            command=call.command.name,
            tenant=caller.tenant,
            room=call.room,
            caller=caller.id,
            caller_kind=caller.kind,
            behalf=caller.on_behalf_of,
        )

    def _publish_asked(self, question: Question) -> None:
        if question.kind == "sampling":
            return
        self._events.publish(
            QuestionAsked(
                tenant=question.tenant,
                at=self._clock.now(),
                question=question.id,
                server=question.server,
                room=question.room,
                caller=question.caller,
                command=question.command,
                execution=question.call,
            )
        )

    def _publish_answered(self, question: Question, action: str, who: str) -> None:
        if question.kind == "sampling":
            return
        self._events.publish(
            QuestionAnswered(
                tenant=question.tenant,
                at=self._clock.now(),
                question=question.id,
                room=question.room,
                caller=question.caller,
                action=action,
                answered_by=who,
            )
        )


class _OpenQuestion:
    """An open question with its form validator and the future of its answer."""

    __slots__ = ("_reader", "answer", "over", "question", "taken")

    def __init__(self, question: Question, reader: Validator | None) -> None:
        self.question = question
        self.answer: asyncio.Future[QuestionAnswer] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.taken = False
        """Whether a client takes it to its model."""
        self._reader = reader

    def validate(self, content: dict[str, Any] | None) -> dict[str, Any] | None:
        """Validate a person's answer against the form."""
        form = self.question.form
        if self._reader is None or form is None:
            if content:
                raise BadParams("This question has no form; answer it with the action alone.")
            return None if form is None else {}
        filled = content or {}
        unknown = filled.keys() - form.get("properties", {}).keys()
        if unknown:
            names = ", ".join(form.get("properties", {})) or "none"
            raise BadParams(f"The form has no field {shorten(min(unknown))}; its fields: {names}.")
        if not self._reader.is_valid(filled):
            fault = next(self._reader.iter_errors(filled))
            raise BadParams(describe_fault(fault, form, "The form", "field", private=True))
        return filled


def _render_message(wanted: ServerQuestion) -> str:
    """The question's text for people, with invisible characters escaped."""
    said = wanted.message[:_LONGEST]
    rest = f"… ({len(wanted.message)} characters)" if len(wanted.message) > _LONGEST else ""
    lines = [f"{escape_invisible(said)}{rest}"]
    if wanted.kind == "url":
        address = escape_invisible(str(wanted.params.get("url", ""))[:_LONGEST], lines=False)
        lines.append(f"The server asks you to open this address yourself: {address}")
    return "\n".join(lines)


def _model_request(wanted: ServerQuestion) -> dict[str, Any]:
    """The request to a model; empty for questions to people, which are in the message and the form."""
    if wanted.kind != "sampling":
        return {}
    if len(_encode(wanted.params)) > _LARGEST_REQUEST:
        raise BadParams(f"The request of {wanted.server} to a model is larger than {_LARGEST_REQUEST} bytes.")
    return wanted.params


def _read_form(wanted: ServerQuestion) -> dict[str, Any] | None:
    if wanted.kind != "form":
        return None
    form = wanted.params.get("requestedSchema", {"type": "object", "properties": {}})
    if not isinstance(form, dict) or not isinstance(form.get("properties", {}), dict):
        raise BadParams(f"The form of {wanted.server} is not an object schema.")
    if len(_encode(form)) > _LARGEST_FORM:
        raise BadParams(f"The form of {wanted.server} is larger than {_LARGEST_FORM} bytes.")
    hidden = next((name for name in form.get("properties", {}) if escape_invisible(name, lines=False) != name), None)
    if hidden is not None:
        raise BadParams(
            f"The form of {wanted.server} has a field name with invisible characters:"
            f" {shorten(escape_invisible(hidden, lines=False))}."
        )
    shown: dict[str, Any] = _escape_texts(form)
    return shown


def _escape_texts(value: Any, name: str = "") -> Any:
    """Escape invisible characters in the form's texts for people. Values for validation stay unchanged."""
    if isinstance(value, dict):
        return {key: _escape_texts(one, key) for key, one in value.items()}
    if isinstance(value, list) and name in ("anyOf", "oneOf", "enumNames"):
        return [_escape_texts(one, name) for one in value]
    return (
        escape_invisible(value) if isinstance(value, str) and name in ("title", "description", "enumNames") else value
    )


def _make_validator(form: dict[str, Any] | None) -> Validator | None:
    if form is None or not form.get("properties"):
        return None
    try:
        if schema_cost.find_depth_limit(form) is not None:
            raise schema_cost.SchemaTooCostly("nested values would take too long to validate")
        return validator(form)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise BadParams(f"The form is not a usable schema: {shorten(str(error), 200)}") from error


def _is_same_caller(question: Question, caller: Caller) -> bool:
    asked = (question.tenant, question.caller, question.caller_kind, question.behalf)
    return asked == (caller.tenant, caller.id, caller.kind, caller.on_behalf_of)
