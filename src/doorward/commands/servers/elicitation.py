"""Commands mcp/questions and mcp/answer: elicitation, the questions of servers to people during a call."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.commands.servers.family import family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, NoUndo
from doorward.core.errors import CommandFailed, DoorwardError, NotPermitted
from doorward.gate.approvals import DEFAULT_APPROVERS
from doorward.gate.executions.execution import OpenQuestion
from doorward.gate.executions.notices import QuestionNotice
from doorward.upstream.calls import QuestionAnswer, ServerQuestion
from doorward.upstream.questions import Action, Question

log = logging.getLogger(__name__)

Id = Annotated[str, Meta(description="The question's id", min_length=1, max_length=64)]
_AN_ID = "01k9x2m4q7ab3cde"


class QuestionFacts(TypedDict):
    id: str
    server: str
    kind: Annotated[str, Meta(description="form: fields to fill in; url: a page to open yourself")]
    message: Annotated[str, Meta(description="The server's message, with hidden characters escaped")]
    form: Annotated[dict[str, Any] | None, Meta(description="The JSON Schema of the answer; null for yes or no")]
    command: str
    caller: str
    room: str
    execution: str
    askedAt: str


class AnswerSent(TypedDict):
    id: str
    server: str
    action: Action


@family.command(
    "questions",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which questions do servers have for me", {})],
    related=["mcp/answer"],
    humans_only=True,
    server_wide=True,
    is_status_poll=True,
)
async def list_questions(ctx: Context) -> Listing[QuestionFacts]:
    """List the questions that MCP servers ask you before they continue a call, oldest first."""
    waiting = ctx.services.questions.list_open(ctx.caller.tenant)
    return make_listing([_describe(question) for question in waiting if _may_answer(ctx, question)])


@family.command(
    "answer",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("the server has received the answer"),
    examples=[
        Example("answer with the name", {"question": _AN_ID, "action": "accept", "content": {"name": "Ada"}}),
        Example("decline to answer", {"question": _AN_ID, "action": "decline"}),
    ],
    related=["mcp/questions"],
    humans_only=True,
    server_wide=True,
    secret=["content"],
)
async def answer(
    ctx: Context,
    question: Id,
    action: Annotated[Action, Meta(description="accept: answer; decline: refuse; cancel: not now")],
    content: Annotated[dict[str, Any] | None, Meta(description="The values of the form's fields, by name")] = None,
) -> AnswerSent:
    """Answer a question of an MCP server. Your answer goes to that server and is not recorded here."""
    found = ctx.services.questions.get(ctx.caller.tenant, question)
    if not _may_answer(ctx, found):
        raise NotPermitted(
            f"Only {found.behalf or found.caller} and the owners and admins of the room {found.room!r}"
            " may answer this question."
        )
    ctx.services.questions.answer(ctx.caller, question, action, content)
    return {"id": found.id, "server": found.server, "action": action}


async def ask_people(ctx: Context, wanted: ServerQuestion) -> QuestionAnswer:
    """Ask the people who can answer a server's question, and wait. If nobody can be asked, the answer is `cancel`:
    only a person may decline."""
    execution = ctx.execution
    if wanted.kind != "sampling":
        offer = getattr(ctx.call.command, "offer", None)
        seconds = ctx.call.command.facts.timeout if offer is None else offer.timeout
        execution.open_question = OpenQuestion(wanted.server, seconds)
    try:
        given = await ctx.services.questions.ask(ctx.call, wanted, lambda question: _announce(ctx, question))
    except asyncio.CancelledError:
        if asyncio.current_task() is not execution.task:  # the server withdrew the question, and the call continues
            execution.open_question = None
        raise
    except DoorwardError as error:
        execution.open_question = None
        ctx.execution.log(wanted.server, "warning", f"A question could not be asked: {error.message}")
        log.warning("a question of the server %s could not be asked: %s", wanted.server, error.message)
        if wanted.kind == "sampling":  # sampling has no negative answer, so the server gets an error
            raise CommandFailed(f"The server {wanted.server} requested sampling: {error.message}") from error
        return QuestionAnswer(action="cancel")
    execution.open_question = None
    return given


def _announce(ctx: Context, question: Question) -> None:
    """Announce the question to the watchers of the call. The text is for people: an agent gets only the fact."""
    message = question.message if ctx.caller.kind == "human" else ""
    ctx.execution.notify_question(QuestionNotice(question.id, question.server, question.kind, message))
    if question.kind != "sampling":
        ctx.execution.progress(
            ctx.execution.fraction,
            f"{question.server} asks a question: doorward approvals answer {question.id}",
        )


def _may_answer(ctx: Context, question: Question) -> bool:
    """Whether the caller may answer: the person who made the call or for whom it was made, or a decider of the room."""
    if question.concerns(ctx.caller):
        return ctx.caller.covers_room(question.room) or not question.room
    room = ctx.services.rooms.get(question.tenant, question.room)
    member = room.members.get(ctx.caller.id) if room is not None else None
    decides = member is not None and member.kind == "human" and member.role in DEFAULT_APPROVERS
    return decides and ctx.caller.covers_room(question.room)


def _describe(question: Question) -> QuestionFacts:
    return {
        "id": question.id,
        "server": question.server,
        "kind": question.kind,
        "message": question.message,
        "form": question.form,
        "command": question.command,
        "caller": question.caller,
        "room": question.room,
        "execution": question.call,
        "askedAt": to_iso(question.asked_at),
    }
