"""mcp/questions and mcp/answer: what servers want to know of people while a call of theirs waits."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.approvals.approvals import DECIDERS
from doorward.backends.context import Context, Listing, listing
from doorward.backends.mcp.family import family
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, NoUndo
from doorward.errors import CommandFailed, DoorwardError, NotPermitted
from doorward.executions.execution import Unanswered
from doorward.executions.notices import Asked
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.answering import Given, Wanted
from doorward.upstream.questions import Action, Question

log = logging.getLogger(__name__)

Id = Annotated[str, Meta(description="The question's id", min_length=1, max_length=64)]
_AN_ID = "01k9x2m4q7ab3cde"


class QuestionFacts(TypedDict):
    id: str
    server: str
    kind: Annotated[str, Meta(description="form: fields to fill in; url: an address to open by yourself")]
    message: Annotated[str, Meta(description="The server's words, with hidden characters written out")]
    form: Annotated[dict[str, Any] | None, Meta(description="The JSON Schema of the answer; null: yes or no is all")]
    command: str
    caller: str
    room: str
    execution: str
    askedAt: str


class Answered(TypedDict):
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
    examples=[Example("what do servers want to know of me", {})],
    related=["mcp/answer"],
    humans_only=True,
    house_wide=True,
    tells_how_it_stands=True,
)
async def list_questions(ctx: Context) -> Listing[QuestionFacts]:
    """List what MCP servers want to know of you before they go on with a call, oldest first."""
    waiting = ctx.house.questions.waiting(ctx.caller.tenant)
    return listing([_facts(question) for question in waiting if _may_answer(ctx, question)])


@family.command(
    "answer",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("what a server was told cannot be taken back"),
    examples=[
        Example("tell it the name", {"question": _AN_ID, "action": "accept", "content": {"name": "Ada"}}),
        Example("do not tell it", {"question": _AN_ID, "action": "decline"}),
    ],
    related=["mcp/questions"],
    humans_only=True,
    house_wide=True,
    secret=["content"],
)
async def answer(
    ctx: Context,
    question: Id,
    action: Annotated[Action, Meta(description="accept: give what is asked for; decline: no; cancel: not now")],
    content: Annotated[dict[str, Any] | None, Meta(description="The fields of the form, by name")] = None,
) -> Answered:
    """Answer what an MCP server wants to know. What you fill in goes to that server, and into no record here."""
    found = ctx.house.questions.get(ctx.caller.tenant, question)
    if not _may_answer(ctx, found):
        raise NotPermitted(
            f"The question is for {found.behalf or found.caller} and for the owners and admins of the room"
            f" {found.room!r}; you are none of them."
        )
    ctx.house.questions.answer(ctx.caller, question, action, content)
    return {"id": found.id, "server": found.server, "action": action}


async def asked(ctx: Context, wanted: Wanted) -> Given:
    """Put a server's question to whoever can answer it, and wait. What nobody can be asked is cancelled, and said so:
    to decline is a person's decision."""
    execution = ctx.execution
    if wanted.kind != "sampling":
        offer = getattr(ctx.call.command, "offer", None)
        seconds = ctx.call.command.facts.timeout if offer is None else offer.timeout
        execution.unanswered = Unanswered(wanted.server, seconds)
    try:
        given = await ctx.house.questions.ask(ctx.call, wanted, lambda question: _tell(ctx, question))
    except asyncio.CancelledError:
        if asyncio.current_task() is not execution.task:  # the server took it back, and the call goes on
            execution.unanswered = None
        raise
    except DoorwardError as error:
        execution.unanswered = None
        ctx.execution.log(wanted.server, "warning", f"A question was put to nobody: {error.message}")
        log.warning("a question of the server %s was put to nobody: %s", wanted.server, error.message)
        if wanted.kind == "sampling":  # which has no answer that says no, so the server is told by an error
            raise CommandFailed(f"The server {wanted.server} asks for a model's answer: {error.message}") from error
        return Given(action="cancel")
    execution.unanswered = None
    return given


def _tell(ctx: Context, question: Question) -> None:
    """Whoever watches hears of it. What is asked is for people: an agent only learns that somebody is being asked."""
    message = question.message if ctx.caller.kind == "human" else ""
    ctx.execution.asked(Asked(question.id, question.server, question.kind, message))
    if question.kind != "sampling":
        ctx.execution.progress(
            ctx.execution.fraction,
            f"{question.server} asks something: doorward approvals answer {question.id}",
        )


def _may_answer(ctx: Context, question: Question) -> bool:
    """The person who called, or for whom an agent did; and whoever decides in that room."""
    if question.concerns(ctx.caller):
        return ctx.caller.reaches(question.room) or not question.room
    room = ctx.house.rooms.get(question.tenant, question.room)
    member = room.members.get(ctx.caller.id) if room is not None else None
    decides = member is not None and member.kind == "human" and member.role in DECIDERS
    return decides and ctx.caller.reaches(question.room)


def _facts(question: Question) -> QuestionFacts:
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
        "askedAt": iso(question.asked_at),
    }
