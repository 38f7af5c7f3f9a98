"""Questions: what a server wants to know of a person, or of its caller's model, before it goes on with a call.

A question lives exactly as long as the call that it holds up. It is kept in memory only: when the call ends, in
whatever way, or Doorward does, there is nobody left who could use an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import jsonschema_rs
import msgspec

from doorward.clock import Clock
from doorward.command import describe_fault, shortened
from doorward.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.events import Bus, QuestionAnswered, QuestionAsked
from doorward.ids import new_id
from doorward.model import Call, Caller
from doorward.upstream import effort
from doorward.upstream.answering import Given, Wanted
from doorward.validation import Validator, validator
from doorward.visible import visible

MOST = 200
"""How many questions wait at once."""
MOST_EACH = 5
"""How many of them belong to one call."""
_LONGEST = 10_000
"""Characters of a question that are shown, which is all that the client behind us takes."""
_LARGEST_REQUEST = 1_000_000
"""Bytes of what a model is asked, since it is kept until there is an answer."""
_LARGEST_FORM = 32_768
"""Bytes of the form that belongs to a question."""
Action = Literal["accept", "decline", "cancel"]

_encode = msgspec.json.Encoder().encode


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question, with everything that decides who may see and answer it."""

    id: str
    server: str
    kind: Literal["form", "url", "sampling"]
    message: str
    """As a person reads it: hidden characters are written out, and the server is named."""
    form: dict[str, Any] | None = None
    """The JSON Schema of what an answer holds; None where yes or no is all."""
    request: dict[str, Any]
    """What the server sent, for the model that is asked by it; empty where people are asked."""
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

        Agents and programs may be named like a person, who is another for all that.
        """
        if self.tenant != caller.tenant or caller.kind != "human":
            return False
        return caller.id == self.behalf or (self.caller_kind == "human" and caller.id == self.caller)


class Questions:
    def __init__(self, events: Bus, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, call: Call, wanted: Wanted, tell: Callable[[Question], None]) -> Given:
        """Wait until somebody answers. `tell` tells whoever watches the call.

        A model is asked only by a client that takes the question to it at once; otherwise it is declined, as is what
        no person could be shown.
        """
        question = self._question(call, wanted)
        waiting = _Waiting(question, _reader(question.form))
        self._waiting[question.id] = waiting
        try:
            tell(question)
            if question.kind == "sampling" and not waiting.taken:
                raise NotPermitted("No client is there that offers its model.")
            self._publish(question)
            return await waiting.answer
        finally:
            del self._waiting[question.id]
            waiting.over.set_result(None)
            if waiting.answer.cancelled() or not waiting.answer.done():
                waiting.answer.cancel()
                self._answered(question, "gone", "")

    def waiting(self, tenant: str) -> list[Question]:
        """Those that people of this tenant could answer, oldest first."""
        return [
            one.question
            for one in self._waiting.values()
            if one.question.tenant == tenant and one.question.kind != "sampling"
        ]

    def get(self, tenant: str, id: str) -> Question:
        found = self._waiting.get(id)
        if found is None or found.question.tenant != tenant:
            raise NotFound(
                f"There is no question {shortened(id)} that waits for an answer; `doorward approvals questions` shows"
                " those there are."
            )
        return found.question

    def answer(self, person: Caller, id: str, action: Action, content: dict[str, Any] | None) -> Question:
        """A person's answer. Whether this person may answer at all is for the command to say that brings it here."""
        question = self.get(person.tenant, id)
        if person.kind != "human" or question.kind == "sampling":
            raise NotPermitted("Only a person may answer, and only a question that was put to people.")
        waiting = self._waiting[question.id]
        given = waiting.read(content) if action == "accept" else None
        if waiting.answer.done():
            raise Conflict(f"The question {id} is answered already.")
        waiting.answer.set_result(Given(action=action, content=given))
        self._answered(question, action, person.id)
        return question

    def over(self, id: str) -> asyncio.Future[None]:
        """What is done as soon as this question has its answer, or needs none any more."""
        found = self._waiting.get(id)
        if found is not None:
            return found.over
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        over.set_result(None)
        return over

    def take(self, id: str) -> None:
        """A client takes this question to its model."""
        if id in self._waiting:
            self._waiting[id].taken = True

    def sampled(self, caller: Caller, id: str, result: dict[str, Any] | None) -> None:
        """What the model of the calling client said, as that client brings it; None: it will not, or cannot."""
        found = self._waiting.get(id)
        if found is None or found.answer.done():
            return
        question = found.question
        if question.kind != "sampling" or not _same(question, caller):
            raise NotPermitted("Only the client that called can bring what its model said.")
        found.answer.set_result(Given(action="decline") if result is None else Given(action="accept", content=result))

    def _question(self, call: Call, wanted: Wanted) -> Question:
        if len(self._waiting) >= MOST:
            raise Conflict(f"{MOST} questions wait for an answer already.")
        if sum(one.question.call == call.id for one in self._waiting.values()) >= MOST_EACH:
            raise Conflict(f"{MOST_EACH} questions of this call wait for an answer already.")
        caller = call.caller
        return Question(
            id=new_id(),
            server=wanted.server,
            kind=wanted.kind,
            message=_shown(wanted),
            form=_form(wanted),
            request=_request(wanted),
            asked_at=self._clock.now(),
            call=call.id,
            command=call.command.name,
            tenant=caller.tenant,
            room=call.room,
            caller=caller.id,
            caller_kind=caller.kind,
            behalf=caller.on_behalf_of,
        )

    def _publish(self, question: Question) -> None:
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

    def _answered(self, question: Question, action: str, who: str) -> None:
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


class _Waiting:
    """A question, how its answer is read, and the future of it."""

    __slots__ = ("_reader", "answer", "over", "question", "taken")

    def __init__(self, question: Question, reader: Validator | None) -> None:
        self.question = question
        self.answer: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.taken = False
        """Whether a client takes it to its model."""
        self._reader = reader

    def read(self, content: dict[str, Any] | None) -> dict[str, Any] | None:
        """What a person filled in, held against the form."""
        form = self.question.form
        if self._reader is None or form is None:
            if content:
                raise BadParams("This question has no fields to fill in; answer it with the action alone.")
            return None if form is None else {}
        filled = content or {}
        unknown = filled.keys() - form.get("properties", {}).keys()
        if unknown:
            names = ", ".join(form.get("properties", {})) or "none"
            raise BadParams(f"The form has no field {shortened(min(unknown))}; its fields: {names}.")
        if not self._reader.is_valid(filled):
            fault = describe_fault(next(self._reader.iter_errors(filled)), form, private=True)
            raise BadParams(f"The answer does not fit the form: {fault}")
        return filled


def _shown(wanted: Wanted) -> str:
    """The question as a person reads it. What could pass for a word of Doorward's is plainly the server's."""
    said = wanted.message[:_LONGEST]
    rest = f"… ({len(wanted.message)} characters)" if len(wanted.message) > _LONGEST else ""
    lines = [f"{visible(said)}{rest}"]
    if wanted.kind == "url":
        address = visible(str(wanted.params.get("url", ""))[:_LONGEST], lines=False)
        lines.append(f"It wants you to open this address, which Doorward does not do for you: {address}")
    return "\n".join(lines)


def _request(wanted: Wanted) -> dict[str, Any]:
    """What a model is asked; what a person is asked is in the message and the form."""
    if wanted.kind != "sampling":
        return {}
    if len(_encode(wanted.params)) > _LARGEST_REQUEST:
        raise BadParams(f"What {wanted.server} asks a model has more than the {_LARGEST_REQUEST} bytes that are taken.")
    return wanted.params


def _form(wanted: Wanted) -> dict[str, Any] | None:
    if wanted.kind != "form":
        return None
    form = wanted.params.get("requestedSchema", {"type": "object", "properties": {}})
    if not isinstance(form, dict) or not isinstance(form.get("properties", {}), dict):
        raise BadParams(f"The form of {wanted.server} is not the schema of an object.")
    if len(_encode(form)) > _LARGEST_FORM:
        raise BadParams(f"The form of {wanted.server} is larger than the {_LARGEST_FORM} bytes that a person is shown.")
    hidden = next((name for name in form.get("properties", {}) if visible(name, lines=False) != name), None)
    if hidden is not None:
        raise BadParams(
            f"The form of {wanted.server} has a field whose name holds characters that nobody can see, and so nobody"
            f" could fill it in: {shortened(visible(hidden, lines=False))}."
        )
    shown: dict[str, Any] = _readable(form)
    return shown


def _readable(value: Any, name: str = "") -> Any:
    """The same form with the words that a person reads made visible; what an answer is held against stays as it is."""
    if isinstance(value, dict):
        return {key: _readable(one, key) for key, one in value.items()}
    if isinstance(value, list) and name in ("anyOf", "oneOf", "enumNames"):
        return [_readable(one, name) for one in value]
    return visible(value) if isinstance(value, str) and name in ("title", "description", "enumNames") else value


def _reader(form: dict[str, Any] | None) -> Validator | None:
    if form is None or not form.get("properties"):
        return None
    try:
        if effort.deepest(form) is not None:
            raise effort.TooMuch("values that are nested in it would take too long to look at")
        return validator(form)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise BadParams(f"The form is not a schema that can be read: {shortened(str(error), 200)}") from error


def _same(question: Question, caller: Caller) -> bool:
    asked = (question.tenant, question.caller, question.caller_kind, question.behalf)
    return asked == (caller.tenant, caller.id, caller.kind, caller.on_behalf_of)
