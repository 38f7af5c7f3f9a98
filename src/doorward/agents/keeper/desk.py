"""The keeper's service: it takes a request, finds a session and a model, runs the loop and returns the answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

import msgspec

from doorward import redact
from doorward.agents import changes
from doorward.agents.calls.wanted import Wanted
from doorward.agents.keeper import choosing, suggesting, waiting
from doorward.agents.keeper.briefing import Brief
from doorward.agents.keeper.hands import Hands
from doorward.agents.keeper.waiting import LeftOff
from doorward.agents.keeper.work import End, Work
from doorward.agents.models.model import Model, ModelFailed
from doorward.agents.standing_in import stood_in
from doorward.agents.surroundings import Models
from doorward.approvals.approvals import Approval
from doorward.backends.context import Context
from doorward.backends.keeper_desk import Answer, Suggestion
from doorward.backends.session.session import Session
from doorward.command import Command
from doorward.errors import BadParams
from doorward.model import ApprovalTerms, Caller
from doorward.recipes.policy import Policy
from doorward.settings import Keeper
from doorward.visible import storable, visible

Terms = Callable[[Caller, Policy | None, Command], ApprovalTerms | None]
"""Returns the approval that a caller needs for a command under a policy, or None."""
_MARGIN = 1.0
"""Seconds before the gate's time limit at which the keeper stops by itself, so that it can report its progress."""


class Desk:
    """Implements the keeper for commands. Between requests it keeps no state outside their session."""

    def __init__(self, models: Models, terms: Terms, environment: Mapping[str, str] | None = None) -> None:
        self._models = models
        self._terms = terms
        self._environment = os.environ if environment is None else environment

    def thinking_with(self, models: Models, environment: Mapping[str, str]) -> Desk:
        """Return the same keeper with other models."""
        return Desk(models, self._terms, environment)

    async def answer(
        self, ctx: Context, prompt: str, *, session: str = "", model: str = "", ticket: str = ""
    ) -> Answer:
        """Carry out a request by calls inside this one, and report what was done."""
        if model:
            choosing.check(model, ctx.caller, ctx.house.settings.keeper)
        opened = await ctx.house.sessions.open(ctx.caller, ctx.call.room, session)
        unkept: list[str] = []
        async with ctx.house.sessions.using(opened, tell=unkept.append) as held:
            ctx.execution.step("session", {"sessionId": held.id})
            request = _Request(self, ctx, held, model)
            answer = await (request.go_on(ticket, prompt) if ticket else request.begin(prompt))
        answer["notes"] += unkept
        return answer

    async def suggest(self, ctx: Context, request: str, folder: str) -> Suggestion | None:
        """Suggest one call that does what is requested, for a caller in this folder; None if there is none."""
        caller = ctx.caller
        session = Session(tenant=caller.tenant, user=caller.id, id="", room=ctx.call.room, cwd=folder)
        return await suggesting.suggest(ctx, self.brief(ctx, session, request), self._models, request)

    def model(self, asked: str, caller: Caller, settings: Keeper) -> tuple[Model, list[str]]:
        """Return the model and notes about it for people. A model asked for by name has no fallback."""
        name = choosing.wanted(asked, caller, settings, self._environment)
        try:
            found = self._models.find(name)
        except ModelFailed as failure:
            other = None if asked else self._models.instead_of(name)
            if other is None:
                raise
            return other, [stood_in(name, other.name, failure.message), *_away(other)]
        return found, _away(found)

    def instead_of(self, model: Model) -> Model | None:
        return self._models.instead_of(model.name)

    @property
    def debug(self) -> bool:
        return self._environment.get("USHELL_AI_DEBUG", "") not in ("", "0")

    def brief(self, ctx: Context, session: Session, asked: str) -> Brief:
        """Collect the input that all answers to this request share."""
        caller = ctx.caller.thinking()
        room = ctx.house.rooms.get(caller.tenant, ctx.call.room)
        policy = ctx.house.recipes.policy(room.recipe) if room is not None else None
        offered = ctx.house.offered(caller, ctx.call.room)
        context, history = _context(self._environment.get("USHELL_AI_CONTEXT", ""))
        return Brief(
            caller=ctx.caller,
            session=session,
            asked=redact.said(visible(storable(asked))),
            offered=[one for one in offered if not one.unlisted],
            policy=policy,
            waits=lambda command: self._terms(caller, policy, command) is not None,
            limits=ctx.house.settings.keeper,
            context=context,
            history=history,
        )


class _Request:
    """One request to the keeper. Of its session it changes only the conversation."""

    def __init__(self, desk: Desk, ctx: Context, session: Session, model: str) -> None:
        self._desk = desk
        self._ctx = ctx
        self._session = session
        self._model = model
        self._thought_with = ""
        """The model of the request that is resumed."""
        self._notes: list[str] = []

    async def begin(self, prompt: str) -> Answer:
        return await self._work(await self._brief(prompt), self._model, None)

    async def _brief(self, asked: str) -> Brief:
        brief = self._desk.brief(self._ctx, self._session, asked)
        caller, room = self._ctx.caller.thinking(), self._ctx.call.room
        if self._session.requests:
            brief.changes = await changes.made(self._ctx.store, caller, room, self._session.requests)
        self._session.asks(self._ctx.call.id)
        return brief

    async def go_on(self, ticket: str, beside: str) -> Answer:
        """Resume a paused request: run the approved call and continue to an answer."""
        left, approval = await waiting.take_up(self._ctx, self._session.id, ticket)
        self._thought_with = left.model
        if beside.strip() and redact.said(visible(storable(beside))) != left.asked:
            self._note("The new prompt was ignored because a ticket was given. Send it again without the ticket.")
        brief = await self._brief(left.asked)
        talk = self._session.talk
        if approval.state != "pending" and talk and left.asked.startswith(talk[-1][0]):
            talk.pop()  # the "waiting" entry, which the final answer replaces
        if approval.state == "approved":
            return await self._work(brief, self._model or left.model, (left, approval))
        if approval.state == "pending":
            said = waiting.how_to_go_on(approval, self._session.id)
            return self._answer("waiting", said, "The request is still waiting for approval.", None)
        await waiting.close(self._ctx, self._session.id, ticket)
        said = waiting.not_approved(approval)
        self._session.said(left.asked, said)
        return self._answer("not_approved", said, said, None)

    async def _work(self, brief: Brief, asked: str, left: tuple[LeftOff, Approval] | None) -> Answer:
        try:
            model, notes = self._desk.model(asked, self._ctx.caller, self._ctx.house.settings.keeper)
        except ModelFailed as failure:
            raise BadParams(f"agent/ask: {failure.message}") from failure
        for note in notes:
            self._note(note)
        async with self._ctx.house.sessions.apart(self._session, self._ctx.caller.thinking()) as own:
            if left is not None and left[0].folder:
                own.cwd = left[0].folder
            with Hands(self._ctx, own).at_work() as hands:
                work = Work(self._ctx, brief, model, hands, self._seconds(brief), self._desk.debug)
                waits = await self._resume(work, hands, *left) if left is not None else None
                end = waits or await work.done()
                other = self._instead(work, asked) if end.ended == "model_failed" and not end.text else None
                if other is not None:
                    for note in (stood_in(model.name, other.name, end.error), *_away(other)):
                        self._note(note)
                    work = Work(self._ctx, brief, other, hands, self._seconds(brief), self._desk.debug)
                    end = await work.done()
            return await self._ended(brief, work, end, own.cwd)

    async def _resume(self, work: Work, hands: Hands, left: LeftOff, approval: Approval) -> End | None:
        """Run the approved call and add its result to the transcript; return an end if the work cannot continue."""
        done = await hands.resume(approval, json.loads(approval.params))
        if done.call["status"] != "refused":  # a refused call does not use the approval, so it can be resumed again
            await waiting.close(self._ctx, self._session.id, approval.id)
        work.so_far += left.turns
        if left.part:
            done = msgspec.structs.replace(done, told=done.told + waiting.PART)
        return work.took(Wanted(name=left.tool, id=left.answers), done)

    def _instead(self, work: Work, asked: str) -> Model | None:
        """Return the fallback model, if no model was asked for by name and nothing was done yet."""
        return None if asked or work.calls else self._desk.instead_of(work.model)

    async def _ended(self, brief: Brief, work: Work, end: End, folder: str) -> Answer:
        said = end.text
        if end.waits is not None and end.asked is not None:
            ticket = end.waits.call.get("ticket", "")
            left = LeftOff(
                asked=brief.asked,
                turns=tuple(work.so_far),
                answers=end.asked.id,
                tool=end.asked.name[:64],
                model=work.model.name,
                part=end.waits.part,
                folder=folder,
            )
            approval = await waiting.leave_off(self._ctx, self._session.id, ticket, left)
            said = waiting.how_to_go_on(approval, self._session.id)
        elif not said:
            said = _so_far(work, end)
        error = end.error
        if end.waits is not None:
            error = "The request is waiting for approval."
        self._session.said(brief.asked, said)
        return self._answer(end.ended, said, error, work)

    def _answer(self, ended: str, said: str, error: str, work: Work | None) -> Answer:
        answer = {
            "success": ended == "answered" and not error,
            "response": storable(said),
            "toolCalls": work.calls if work is not None else [],
            **({"error": error} if error else {}),
            "ended": ended,
            "sessionId": self._session.id,
            "model": work.model.name if work is not None else self._thought_with,
            "turns": work.turns if work is not None else 0,
            "notes": self._notes,
        }
        return msgspec.convert(answer, Answer)

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._ctx.execution.step("note", {"text": text})

    def _seconds(self, brief: Brief) -> float:
        """Return the time limit: the setting, or less if the room's recipe has a shorter command timeout."""
        most = brief.policy.limits.timeout if brief.policy is not None else None
        seconds = brief.limits.seconds
        return seconds if most is None else max(0.1, min(seconds, most - _MARGIN))


def _away(model: Model) -> list[str]:
    away = choosing.leaves(model)
    return [away] if away else []


def _so_far(work: Work, end: End) -> str:
    """Summarise the work when the model gave no answer of its own."""
    count = len(work.calls)
    done = f"{count} call{'s were' if count != 1 else ' was'} made before that" if count else "Nothing was run"
    return f"{end.error} {done}."


def _context(given: str) -> tuple[str, int]:
    """Parse USHELL_AI_CONTEXT: a number of history lines, or a text for every model."""
    if given.isascii() and given.isdecimal():
        return "", min(int(given[:4]), 500)
    return redact.text(given.strip())[:4_000], 0
