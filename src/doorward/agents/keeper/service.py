"""The keeper's service: it takes a request, finds a session and a model, runs the loop and returns the answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

import msgspec

from doorward.agents import undoable_changes
from doorward.agents.answers import fallback_note
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.command_search import search_commands
from doorward.agents.context import ModelSource, find_house
from doorward.agents.data_profiles import profile_data
from doorward.agents.folder_files import list_files
from doorward.agents.keeper import model_choice, paused_request, suggestion
from doorward.agents.keeper.loop import KeeperLoop
from doorward.agents.keeper.paused_request import PausedRequest
from doorward.agents.keeper.prompt import KeeperContext
from doorward.agents.keeper.tool_runner import ToolRunner
from doorward.agents.loop import LoopEnd
from doorward.agents.models.model import Model, ModelFailed
from doorward.commands.agent_services import KeeperAnswer, Suggestion
from doorward.commands.context import Context
from doorward.config.settings import KeeperSettings
from doorward.core import redact
from doorward.core.command import Command
from doorward.core.errors import BadParams
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.core.model import ApprovalTerms, Caller
from doorward.gate.approval import Approval
from doorward.gate.recipes.policy import Policy
from doorward.shell.session import ShellSession

ApprovalTermsOf = Callable[[Caller, Policy | None, Command], ApprovalTerms | None]
"""Returns the approval that a caller needs for a command under a policy, or None."""
_TIME_MARGIN = 1.0
"""Seconds before the gate's time limit at which the keeper stops by itself, so that it can report its progress."""


class KeeperService:
    """Implements the keeper for commands. Between requests it keeps no state outside their session."""

    def __init__(
        self, models: ModelSource, terms: ApprovalTermsOf, environment: Mapping[str, str] | None = None
    ) -> None:
        self._models = models
        self._terms = terms
        self._environment = os.environ if environment is None else environment

    def with_models(self, models: ModelSource, environment: Mapping[str, str]) -> KeeperService:
        """Return the same keeper with other models."""
        return KeeperService(models, self._terms, environment)

    async def answer(
        self, ctx: Context, prompt: str, *, session: str = "", model: str = "", ticket: str = ""
    ) -> KeeperAnswer:
        """Carry out a request by calls inside this one, and report what was done."""
        if model:
            model_choice.check_choice(model, ctx.caller, ctx.services.settings.keeper)
        opened = await ctx.services.sessions.open(ctx.caller, ctx.call.room, session)
        unkept: list[str] = []
        async with ctx.services.sessions.use(opened, tell=unkept.append) as held:
            ctx.execution.step("session", {"sessionId": held.id})
            request = _KeeperRequest(self, ctx, held, model)
            answer = await (request.resume(ticket, prompt) if ticket else request.start(prompt))
        answer["notes"] += unkept
        return answer

    async def suggest(self, ctx: Context, request: str, folder: str) -> Suggestion | None:
        """Suggest one call that does what is requested, for a caller in this folder; None if there is none."""
        caller = ctx.caller
        session = ShellSession(tenant=caller.tenant, user=caller.id, id="", room=ctx.call.room, cwd=folder)
        brief = await self.build_context(ctx, session, request)
        return await suggestion.suggest(ctx, brief, self._models, request)

    def choose_model(self, asked: str, caller: Caller, settings: KeeperSettings) -> tuple[Model, list[str]]:
        """Return the model and notes about it for people. A model asked for by name has no fallback."""
        name = model_choice.choose_model(asked, caller, settings, self._environment)
        try:
            found = self._models.find(name)
        except ModelFailed as failure:
            other = None if asked else self._models.instead_of(name)
            if other is None:
                raise
            return other, [fallback_note(name, other.name, failure.message), *_remote_notices(other)]
        return found, _remote_notices(found)

    def instead_of(self, model: Model) -> Model | None:
        return self._models.instead_of(model.name)

    @property
    def debug(self) -> bool:
        return self._environment.get("USHELL_AI_DEBUG", "") not in ("", "0")

    async def build_context(self, ctx: Context, session: ShellSession, asked: str) -> KeeperContext:
        """Collect the input that all answers to this request share."""
        caller = ctx.caller.as_keeper()
        room = ctx.services.rooms.get(caller.tenant, ctx.call.room)
        policy = ctx.services.recipes.policy(room.recipe) if room is not None else None
        offered = ctx.services.offered(caller, ctx.call.room)
        context, history = _parse_context(self._environment.get("USHELL_AI_CONTEXT", ""))
        brief = KeeperContext(
            caller=ctx.caller,
            session=session,
            asked=redact.speech(escape_invisible(to_storable(asked))),
            offered=[one for one in offered if not one.unlisted],
            policy=policy,
            waits=lambda command: self._terms(caller, policy, command) is not None,
            limits=ctx.services.settings.keeper,
            context=context,
            history=history,
            now=ctx.services.clock.now(),
            search=search_commands(ctx.services, caller.tenant),
            find_house=lambda: find_house(self._models),
        )
        brief.data = await profile_data(ctx.services, caller, policy, offered)
        brief.files = await list_files(ctx.services, caller, ctx.call.room, policy, offered, brief.folder)
        return brief


class _KeeperRequest:
    """One request to the keeper. Of its session it changes only the conversation."""

    def __init__(self, desk: KeeperService, ctx: Context, session: ShellSession, model: str) -> None:
        self._service = desk
        self._ctx = ctx
        self._session = session
        self._model = model
        self._resumed_model = ""
        """The model of the request that is resumed."""
        self._notes: list[str] = []

    async def start(self, prompt: str) -> KeeperAnswer:
        return await self._run(await self._build_context(prompt), self._model, None)

    async def _build_context(self, asked: str) -> KeeperContext:
        brief = await self._service.build_context(self._ctx, self._session, asked)
        caller, room = self._ctx.caller.as_keeper(), self._ctx.call.room
        if self._session.requests:
            brief.changes = await undoable_changes.list_undoable(self._ctx.store, caller, room, self._session.requests)
        self._session.add_request(self._ctx.call.id)
        return brief

    async def resume(self, ticket: str, beside: str) -> KeeperAnswer:
        """Resume a paused request: run the approved call and continue to an answer."""
        left, approval = await paused_request.load(self._ctx, self._session.id, ticket)
        self._resumed_model = left.model
        if beside.strip() and redact.speech(escape_invisible(to_storable(beside))) != left.asked:
            self._add_note("The new prompt was ignored because a ticket was given. Send it again without the ticket.")
        brief = await self._build_context(left.asked)
        talk = self._session.talk
        if approval.state != "pending" and talk and left.asked.startswith(talk[-1][0]):
            talk.pop()  # the "waiting" entry, which the final answer replaces
        if approval.state == "approved":
            return await self._run(brief, self._model or left.model, (left, approval))
        if approval.state == "pending":
            said = paused_request.describe_pending(approval, self._session.id)
            return self._answer("waiting", said, "The request is still waiting for approval.", None)
        await paused_request.delete(self._ctx, self._session.id, ticket)
        said = paused_request.describe_not_approved(approval)
        self._session.add_talk(left.asked, said)
        return self._answer("not_approved", said, said, None)

    async def _run(self, brief: KeeperContext, asked: str, left: tuple[PausedRequest, Approval] | None) -> KeeperAnswer:
        try:
            model, notes = self._service.choose_model(asked, self._ctx.caller, self._ctx.services.settings.keeper)
        except ModelFailed as failure:
            raise BadParams(f"agent/ask: {failure.message}") from failure
        for note in notes:
            self._add_note(note)
        async with self._ctx.services.sessions.copy_of(self._session, self._ctx.caller.as_keeper()) as own:
            if left is not None and left[0].folder:
                own.cwd = left[0].folder
            with ToolRunner(self._ctx, own).watch() as hands:
                find_fallback = None if asked else self._find_fallback
                seconds, debug = self._time_limit(brief), self._service.debug
                work = KeeperLoop(self._ctx, brief, model, hands, seconds, find_fallback, debug)
                waits = await self._run_approved(work, hands, *left) if left is not None else None
                end = waits or await work.run()
            return await self._finish(brief, work, end, own.cwd)

    async def _run_approved(
        self, work: KeeperLoop, hands: ToolRunner, left: PausedRequest, approval: Approval
    ) -> LoopEnd | None:
        """Run the approved call and add its result to the transcript; return an end if the work cannot continue."""
        done = await hands.resume(approval, json.loads(approval.params))
        if done.call["status"] != "refused":  # a refused call does not use the approval, so it can be resumed again
            await paused_request.delete(self._ctx, self._session.id, approval.id)
        if left.part:
            done = msgspec.structs.replace(done, told=done.told + paused_request.PARTIAL_RESULT)
        return work.resume(left.turns, ParsedCall(name=left.tool, id=left.answers), done)

    def _find_fallback(self, model: Model, error: str) -> Model | None:
        """Return the fallback for a model that failed, with notes about it for people."""
        other = self._service.instead_of(model)
        if other is not None:
            for note in (fallback_note(model.name, other.name, error), *_remote_notices(other)):
                self._add_note(note)
        return other

    async def _finish(self, brief: KeeperContext, work: KeeperLoop, end: LoopEnd, folder: str) -> KeeperAnswer:
        said = end.text
        error = end.error
        if work.waiting is not None:
            call, done = work.waiting
            left = PausedRequest(
                asked=brief.asked,
                turns=tuple(work.transcript),
                answers=call.id,
                tool=call.name[:64],
                model=work.model.name,
                part=done.part,
                folder=folder,
            )
            approval = await paused_request.save(self._ctx, self._session.id, done.call.get("ticket", ""), left)
            said = paused_request.describe_pending(approval, self._session.id)
            error = "The request is waiting for approval."
        elif not said:
            said = _summarize(work, end)
        self._session.add_talk(brief.asked, said)
        return self._answer(end.ended, said, error, work)

    def _answer(self, ended: str, said: str, error: str, work: KeeperLoop | None) -> KeeperAnswer:
        answer = {
            "success": ended == "answered" and not error,
            "response": to_storable(said),
            "toolCalls": work.calls if work is not None else [],
            **({"error": error} if error else {}),
            "ended": ended,
            "sessionId": self._session.id,
            "model": work.model.name if work is not None else self._resumed_model,
            "turns": work.rounds if work is not None else 0,
            "notes": self._notes,
        }
        if work is not None and work.dollars:
            answer["dollars"] = round(work.dollars, 6)
        return msgspec.convert(answer, KeeperAnswer)

    def _add_note(self, text: str) -> None:
        self._notes.append(text)
        self._ctx.execution.step("note", {"text": text})

    def _time_limit(self, brief: KeeperContext) -> float:
        """Return the time limit: the setting, or less if the room's recipe has a shorter command timeout."""
        most = brief.policy.limits.timeout if brief.policy is not None else None
        seconds = brief.limits.seconds
        return seconds if most is None else max(0.1, min(seconds, most - _TIME_MARGIN))


def _remote_notices(model: Model) -> list[str]:
    away = model_choice.remote_notice(model)
    return [away] if away else []


def _summarize(work: KeeperLoop, end: LoopEnd) -> str:
    """Summarise the work when the model gave no answer of its own."""
    count = len(work.calls)
    done = f"{count} call{'s were' if count != 1 else ' was'} made before that" if count else "Nothing was run"
    return f"{end.error} {done}."


def _parse_context(given: str) -> tuple[str, int]:
    """Parse USHELL_AI_CONTEXT: a number of history lines, or a text for every model."""
    if given.isascii() and given.isdecimal():
        return "", min(int(given[:4]), 500)
    return redact.text(given.strip())[:4_000], 0
