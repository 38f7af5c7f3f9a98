"""One turn of a persona in a room: its prompt, its calls, and its messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from doorward.agents import tool_results, undoable_changes
from doorward.agents.answers import ModelAnswer, OnText, correct_missing_call, fallback_note, only_mentions_command
from doorward.agents.calls.answer_parser import parse_in_thread
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.command_search import search_commands
from doorward.agents.context import AgentContext, find_house
from doorward.agents.data_profiles import profile_data
from doorward.agents.drafts import RoomDraft
from doorward.agents.folder_files import list_files
from doorward.agents.grounding import CallStep
from doorward.agents.loop import AgentLoop, CallResult, LoopEnd, LoopLimits
from doorward.agents.models.model import ChatTurn, Model, Prompt, UndoableChange
from doorward.agents.personas.prompt import (
    TurnContext,
    build_prompt,
    call_from_card,
    result_from_card,
    small_context,
)
from doorward.agents.personas.tool_calls import ToolCalls, get_card
from doorward.agents.quotations import QuotationCheck
from doorward.agents.small_models.context import find_commands, find_example
from doorward.agents.small_models.results import CALL_FAULTS, describe_fault, describe_result
from doorward.core.command import Command
from doorward.core.errors import NotFound, Refused
from doorward.core.ids import new_id
from doorward.core.model import Outcome
from doorward.core.names import wire_name
from doorward.gate.recipes.policy import Policy
from doorward.rooms.message import Card, Message
from doorward.rooms.messages import LARGEST_MESSAGE
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Room
from doorward.store.persona_calls import OpenCall

EMPTY_ANSWER = "(I have nothing to add.)"
_DENIED_BEFORE = (
    "It was not made: people did not approve this same call earlier in this turn, so they are not asked again. Tell "
    "them in words what you need, or do something else."
)


class PersonaTurn(AgentLoop):
    """A running turn. A restart loses it, except for the stored rows of its open calls."""

    def __init__(
        self, around: AgentContext, persona: Persona, room: Room, asker: str, *, id: str = "", rounds: int = 0
    ) -> None:
        """`asker` is the person whom the persona answers and acts for."""
        settings = around.services.settings.personas
        super().__init__(LoopLimits(rounds=settings.rounds, calls=settings.calls), settings, rounds)
        self.id = id or new_id()
        self.tool_calls = ToolCalls(around, persona, room, self.id, asker)
        self.pending: list[OpenCall] = []
        """Its calls that wait for approval, if the turn ended for that reason."""
        self.unfinished = ""
        """The part of an answer written before the turn was stopped."""
        self._context = around
        self._persona = persona
        self._room = room
        self._scene = self._build_context((), None)
        self._offered: list[Command] = []
        self._policy: Policy | None = None
        self._draft = RoomDraft(around.services.live, room, persona.id)
        self._response = ""
        """The id of the answer whose calls run."""
        self._fallback: Model | None = None
        """The fallback model used in this turn."""
        self._first_error = ""
        """Why the persona's own model failed, if a fallback is used."""
        self._fallback_note = ""
        """The note about the fallback, until it is posted."""
        self._denied: list[Card] = []
        """Calls of this turn that were denied or expired."""
        self._quotations = QuotationCheck(around.services.registry)
        self._regulation = around.regulate(persona.id, room.id, asker)

    async def answer(
        self, topic: Message, result: ChatTurn | None = None, queued: frozenset[str] = frozenset()
    ) -> None:
        """Answer a message. With a `result`, resume after a call that waited for approval; `topic` is then its card.

        `queued` are the ids of later messages that get their own turn. This turn does not see them.
        """
        could_undo = await self._list_changes()
        newest = await self._context.services.messages.newest(
            self._room, self._context.services.settings.personas.history
        )
        self._scene = scene = (
            self._build_context(newest, topic) if result is None else await self._rebuild_context(newest, topic, result)
        )
        scene.changes, scene.aside = could_undo, scene.aside | queued
        await self._add_data(scene)
        self.tool_calls.topic = scene.topic.id if scene.topic is not None else ""
        try:
            end = await self.run()
        except asyncio.CancelledError:
            self.unfinished = self._draft.prose()
            self._draft.finish()
            raise
        await self._post_end(end)

    def _build_context(self, newest: Sequence[Message], topic: Message | None) -> TurnContext:
        return TurnContext(persona=self._persona, room=self._room, history=tuple(reversed(newest)), topic=topic)

    async def _rebuild_context(self, newest: Sequence[Message], card: Message, result: ChatTurn) -> TurnContext:
        """Rebuild a turn as it was when it began to wait. Its calls and their results come last, each once.

        Messages that arrived since are placed before the topic.
        """
        shown = get_card(card)
        topic = await self._find_topic(newest, card, shown.topic)
        turn = [
            one for one in newest if one.sender == self._persona.id and shown.topic and _card_topic(one) == shown.topic
        ]
        self._denied = [get_card(one) for one in turn if get_card(one).code == "not_approved"]
        waited = [card, *(one for one in _last_approvals(newest, turn) if one.id != card.id)]
        waited.sort(key=lambda one: one.position)
        calls = []
        for one in waited:
            made = get_card(one)
            name = result.tool if one.id == card.id else wire_name(made.command)
            calls.append(msgspec.structs.replace(call_from_card(one, made), name=name))
        self.transcript.append(ChatTurn(role="assistant", text="", calls=tuple(calls)))
        self.transcript += [result if one.id == card.id else result_from_card(one, get_card(one)) for one in waited]
        scene = self._build_context(newest, topic)
        return msgspec.structs.replace(scene, goes_on=True, aside=frozenset(one.id for one in waited))

    async def _find_topic(self, newest: Sequence[Message], card: Message, topic: str) -> Message | None:
        """Find the message a call was made for. If its card does not name it, take the last message of a person."""
        for one in newest:
            if one.id == topic if topic else one.position < card.position and one.kind == "human" and one.text:
                return one
        try:
            return await self._context.services.messages.get(self._room, topic) if topic else None
        except NotFound:
            return None

    def _is_active(self) -> bool:
        """Whether the persona still exists and is still in this room."""
        room = self._context.services.rooms.get(LOCAL, self._room.id)
        known = self._context.services.personas.get(LOCAL, self._persona.id)
        return room is not None and not room.archived and known is not None and self._persona.id in room.members

    async def _list_changes(self) -> tuple[UndoableChange, ...]:
        """List the persona's changes in this room, for the same person, that it can undo."""
        try:
            caller = self._context.gate.caller(self.tool_calls.credential)
        except Refused:
            return ()
        return await undoable_changes.list_undoable(self._context.services.store, caller, self._room.id)

    async def _add_data(self, scene: TurnContext) -> None:
        """Add the collections and files that the persona may list for the asker."""
        services, room = self._context.services, self._room
        try:
            caller = self._context.gate.caller(self.tool_calls.credential)
        except Refused:
            return
        policy = services.recipes.policy(room.recipe)
        offered = services.offered(caller, room.id)
        if policy is not None:
            scene.data = await profile_data(services, caller, policy, offered)
            scene.files = await list_files(services, caller, room.id, policy, offered, "")
        if self._regulation is not None:
            scene.regulation = self._regulation
        scene.now, scene.search = services.clock.now(), search_commands(services, caller.tenant)
        scene.find_house = lambda: find_house(self._context.models)

    def _list_commands(self) -> list[Command]:
        """List the commands that the persona may run for the asker."""
        try:
            caller = self._context.gate.caller(self.tool_calls.credential)
        except Refused:
            return []
        return self._context.services.offered(caller, self._room.id)

    @property
    def asked(self) -> str:
        return self._scene.topic.text if self._scene.topic is not None else ""

    def find_model(self) -> Model | None:
        """Return the model for the next answer; None if the persona is gone from this room."""
        if not self._is_active():
            return None
        return self._fallback or self._context.models.find(self._model_name)

    @property
    def _model_name(self) -> str:
        return self._persona.model if self._regulation is None else self._regulation.choose_model()

    async def ask(self, model: Model, prompt: Prompt, on_text: OnText) -> ModelAnswer:
        ask = partial(super().ask, model, prompt, on_text)
        return await (ask() if self._regulation is None else self._regulation.measure(model, ask))

    def use_fallback(self, end: LoopEnd) -> bool:
        """Switch to the fallback before the first step. The model never changes in the middle of a turn."""
        if end.ended != "no_answer" or self.transcript or self._fallback is not None:
            return False
        name = self._model_name
        self._fallback = self._context.models.instead_of(name)
        if self._fallback is None:
            return False
        self._first_error = end.error
        self._fallback_note = f"({fallback_note(name, self._fallback.name, end.error)})"
        return True

    def build_prompt(self, model: Model) -> Prompt:
        return build_prompt(self._scene, self._offered, self._policy, model, self.transcript, next_step=self.next_step)

    def start_draft(self, model: Model) -> OnText:
        self._offered = self._list_commands()
        self._policy = self._context.services.recipes.policy(self._room.recipe)
        self._draft = RoomDraft(self._context.services.live, self._room, self._persona.id)
        return self._draft.update

    @contextlib.contextmanager
    def show_waiting(self, seconds: float | None) -> Iterator[None]:
        """Show the persona as waiting in the room."""
        live = self._context.services.live
        live.publish_thinking(self._room, self._persona.id, "waiting")
        yield
        live.publish_thinking(self._room, self._persona.id, "thinking")

    def correct(self, prose: str) -> str:
        """Tell a model that only talks about commands how to run one."""
        if not only_mentions_command(prose, self._offered):
            return ""
        self._draft.finish()
        return correct_missing_call("the room")

    async def start_calls(self, prose: str, response: str) -> None:
        self._response = response
        if prose or self._fallback_note:
            await self._post(prose)
        else:
            self._draft.finish()

    def find_quotations(self, calls: Sequence[ParsedCall], shown: Prompt, results: Sequence[str]) -> list[str]:
        """The persona's own earlier messages count too: they do not contain its calls, but may quote others."""
        others = [one for one in self._scene.history if one.sender != self._persona.id]
        cards = [part for one in others for part in one.attachments if isinstance(part, Card)]
        made = [ParsedCall(name=card.command, params=card.params) for card in cards]
        texts = [*(turn.text for turn in shown.turns), *results]
        if self.small:
            texts.append(tool_results.extract_blocks(shown.instructions))
        return self._quotations.reasons_not_to_run(calls, texts, made)

    def check_call(self, call: ParsedCall) -> CallResult | None:
        """Return a result for a call that was denied or expired earlier in this turn, or None to run it."""
        if not self._denied:
            return None
        card, *denied = (
            ParsedCall(name=one.command, params=one.params) for one in (self.tool_calls.card(call), *self._denied)
        )
        return CallResult(text=_DENIED_BEFORE) if self._quotations.contains(card, denied) else None

    async def run_call(self, call: ParsedCall) -> CallResult:
        own = await self._regulation.run_tool(call) if self._regulation is not None else None
        if isinstance(own, CallResult):
            return own
        done = await self.tool_calls.run(call, self._response, self.rounds)
        if done.waits is not None:
            self.pending.append(done.waits)
            return CallResult(text=done.text, end=LoopEnd(ended="waiting"))
        text, fault = self._shorten(call, done.outcome) if self.small else (done.text, "")
        full = done.outcome.status == "refused" and done.outcome.rule.startswith("recipe: maxCommandsPerResponse")
        command, registry = done.outcome.command, self._context.services.registry
        step = CallStep(command, done.outcome.status, command not in registry or not registry[command].reads_only)
        skip = done.outcome.message if full else ""
        return CallResult(text=text, full=done.text if self.small else "", fault=fault, step=step, skip=skip)

    def withdraw_draft(self) -> None:
        self._draft.finish()

    def _shorten(self, call: ParsedCall, outcome: Outcome) -> tuple[str, str]:
        """Return a result as a small model reads it, and what was wrong with the call."""
        if outcome.status == "done":
            return describe_result(outcome, call.params or {}, self._scene.data, self.asked), ""
        example = find_example(small_context(self._scene, self._offered, self._policy), call.name)
        fault = f"{outcome.code}: {outcome.command}" if outcome.code in CALL_FAULTS else ""
        return describe_fault(outcome, call.params or {}, self._scene.data, example), fault

    def find_commands(self, query: str) -> list[str]:
        lines = find_commands(small_context(self._scene, self._offered, self._policy), query)
        self._scene.found += [one.tool.command for one in lines if one.tool.command not in self._scene.found]
        return [one.text for one in lines]

    def describe_skipped(self, count: int, reason: str) -> tuple[str, str]:
        reason = reason or f"One answer may hold {self.limits.calls} calls."
        return f"{count} more calls of this answer were not made. {reason}", "It was not made for the same reason."

    async def _post_end(self, end: LoopEnd) -> None:
        match end.ended:
            case "answered":
                await self._post(end.text or EMPTY_ANSWER)
            case "cut":
                await self._post((await parse_in_thread(end.text)).prose, note=f"({end.error})")
            case "no_answer":
                await self._post(f"I cannot answer: {self._describe_failure(end.error)}")
            case "turn_limit":
                times = f"I ran commands {self.limits.rounds} times without finishing"
                await self._post(f"I stop here: {times}. Ask me to continue if you want me to.")

    def _describe_failure(self, error: str) -> str:
        if self._fallback is None or self.transcript:
            return error
        self._fallback_note = ""
        return f"{self._first_error} Its fallback {self._fallback.name} failed as well: {error}"

    async def _post(self, text: str, note: str = "") -> None:
        """Post a text in place of the draft."""
        text, self._fallback_note = append_note("\n\n".join(filter(None, (self._fallback_note, text))), note), ""
        message = None
        try:
            if self._is_active():
                message = await self._context.services.messages.post(
                    self._room, self._persona.id, "ai", text, behalf=self.tool_calls.credential.asker
                )
        finally:
            self._draft.finish(message)


def append_note(text: str, note: str) -> str:
    """Append a note to a text and cut the text to the size of one message; the note says so."""
    if len(text) + (len(note) + 2 if note else 0) > LARGEST_MESSAGE:
        note = note or f"(cut here; the answer had {len(text)} characters)"
        text = text[: LARGEST_MESSAGE - len(note) - 2]
    return f"{text}\n\n{note}" if text and note else text or note


def _card_topic(message: Message) -> str:
    return get_card(message).topic


def _last_approvals(newest: Sequence[Message], turn: Sequence[Message]) -> list[Message]:
    """Return the adjacent calls at the end of a turn that needed approval."""
    found: list[Message] = []
    own = [one for one in newest if turn and one.sender == turn[0].sender and one.position <= turn[0].position]
    for one in own:
        if one not in turn or not get_card(one).approval:
            break
        found.append(one)
    return found
