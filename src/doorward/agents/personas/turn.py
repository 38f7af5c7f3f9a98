"""One turn of a persona in a room: ask the model, run its calls, give it the results, until it answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence

import msgspec

from doorward.agents import undoable_changes
from doorward.agents.answers import (
    ModelAnswer,
    RateLimitRetry,
    both_failed,
    correct_missing_call,
    fallback_note,
    find_unloaded,
    only_mentions_command,
    parse_answer,
    report_unreadable,
)
from doorward.agents.calls.answer_parser import parse_in_thread
from doorward.agents.calls.parsed import ParsedAnswer, ParsedCall
from doorward.agents.context import AgentContext
from doorward.agents.drafts import RoomDraft
from doorward.agents.models.model import ChatTurn, Model, ModelFailed, Prompt, UndoableChange
from doorward.agents.personas.prompt import TurnContext, build_prompt, call_from_card, result_from_card
from doorward.agents.personas.tool_calls import ToolCalls, get_card
from doorward.agents.quotations import QuotationCheck
from doorward.core.command import Command
from doorward.core.errors import NotFound, Refused
from doorward.core.ids import new_id
from doorward.core.names import wire_name
from doorward.gate.recipes.policy import Policy
from doorward.rooms.message import Card, Message
from doorward.rooms.messages import LARGEST_MESSAGE
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Room
from doorward.store.persona_calls import OpenCall

log = logging.getLogger(__name__)

EMPTY_ANSWER = "(I have nothing to add.)"
_DENIED_BEFORE = (
    "It was not made: people did not approve this same call earlier in this turn, so they are not asked again. Tell "
    "them in words what you need, or do something else."
)


class PersonaTurn:
    """A running turn. A restart loses it, except for the stored rows of its open calls."""

    def __init__(
        self, around: AgentContext, persona: Persona, room: Room, asker: str, *, id: str = "", rounds: int = 0
    ) -> None:
        """`asker` is the person whom the persona answers and acts for."""
        self.id = id or new_id()
        self.tool_calls = ToolCalls(around, persona, room, self.id, asker)
        self.pending: list[OpenCall] = []
        """Its calls that wait for approval, if the turn ended for that reason."""
        self.unfinished = ""
        """The part of an answer written before the turn was stopped."""
        self._context = around
        self._persona = persona
        self._room = room
        self._rounds = rounds
        self._transcript: list[ChatTurn] = []
        self._corrected = False
        self._retry = RateLimitRetry()
        self._fallback: Model | None = None
        """The fallback model used in this turn."""
        self._fallback_note = ""
        """The note about the fallback, until it is posted."""
        self._denied: list[Card] = []
        """Calls of this turn that were denied or expired."""
        self._quotations = QuotationCheck(around.services.registry)

    async def run(self, topic: Message, result: ChatTurn | None = None) -> None:
        """Answer a message. With a `result`, resume after a call that waited for approval; `topic` is then its card."""
        could_undo = await self._list_changes()
        newest = await self._context.services.messages.newest(
            self._room, self._context.services.settings.personas.history
        )
        scene = (
            self._build_context(newest, topic) if result is None else await self._rebuild_context(newest, topic, result)
        )
        scene.changes = could_undo
        self.tool_calls.topic = scene.topic.id if scene.topic is not None else ""
        most = self._context.services.settings.personas.rounds
        while self._rounds < most:
            if not self._is_active():
                return
            self._rounds += 1
            if await self._run_round(scene):
                return
        await self._post(
            f"I stop here: I ran commands {most} times without finishing. Ask me to continue if you want me to."
        )

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
        self._transcript.append(ChatTurn(role="assistant", text="", calls=tuple(calls)))
        self._transcript += [result if one.id == card.id else result_from_card(one, get_card(one)) for one in waited]
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

    def _list_commands(self) -> list[Command]:
        """List the commands that the persona may run for the asker."""
        try:
            caller = self._context.gate.caller(self.tool_calls.credential)
        except Refused:
            return []
        return self._context.services.offered(caller, self._room.id)

    async def _run_round(self, scene: TurnContext) -> bool:
        """Get one answer and run its calls; return whether the turn is over."""
        services = self._context.services
        offered = self._list_commands()
        policy = services.recipes.policy(self._room.recipe)
        drafting = RoomDraft(services.live, self._room, self._persona.id)
        try:
            got, given = await self._ask_model(scene, offered, policy, drafting)
        except ModelFailed as failure:
            drafting.finish()
            await self._post(f"I cannot answer: {failure.message}")
            return True
        except asyncio.CancelledError:
            self.unfinished = drafting.prose()
            drafting.finish()
            raise
        return await self._handle_answer(got, offered, drafting, scene, given)

    async def _ask_model(
        self, scene: TurnContext, offered: Sequence[Command], policy: Policy | None, drafting: RoomDraft
    ) -> tuple[ModelAnswer, Prompt]:
        """Ask the persona's model, or its fallback. The model never changes in the middle of a turn."""
        models, name = self._context.models, self._persona.model
        try:
            return await self._ask(self._fallback or models.find(name), scene, offered, policy, drafting)
        except ModelFailed as failure:
            other = None if self._transcript or self._fallback is not None else models.instead_of(name)
            if other is None:
                raise
            self._fallback, self._fallback_note = other, f"({fallback_note(name, other.name, failure.message)})"
            try:
                return await self._ask(other, scene, offered, policy, drafting)
            except ModelFailed as second:
                self._fallback_note = ""
                raise both_failed(failure, other.name, second) from second

    async def _ask(
        self, model: Model, scene: TurnContext, offered: Sequence[Command], policy: Policy | None, drafting: RoomDraft
    ) -> tuple[ModelAnswer, Prompt]:
        if (loads := find_unloaded(model)) is not None:
            with self._show_waiting():
                await loads.load()
        given = await asyncio.to_thread(build_prompt, scene, offered, policy, model, tuple(self._transcript))
        limits = self._context.services.settings.personas
        return await self._retry.ask(model, given, limits, drafting.update, self._show_waiting), given

    @contextlib.contextmanager
    def _show_waiting(self, _seconds: float = 0.0) -> Iterator[None]:
        """Show the persona as waiting in the room."""
        live = self._context.services.live
        live.publish_thinking(self._room, self._persona.id, "waiting")
        yield
        live.publish_thinking(self._room, self._persona.id, "thinking")

    async def _handle_answer(
        self, got: ModelAnswer, offered: Sequence[Command], drafting: RoomDraft, scene: TurnContext, given: Prompt
    ) -> bool:
        if got.cut:
            prose = (await parse_in_thread(got.text)).prose
            await self._post(prose, drafting, note=f"({got.cut})")
            return True
        reading, unreadable = await parse_answer(got)
        if not reading.calls and not unreadable:
            if not self._corrected and only_mentions_command(reading.prose, offered):
                drafting.finish()
                self._correct(got)
                return False
            await self._post(reading.prose or EMPTY_ANSWER, drafting)
            return True
        repeated = [""] * len(reading.calls) if got.asked else await self._find_quotations(reading, scene, given)
        if reading.prose or self._fallback_note:
            await self._post(reading.prose, drafting)
        else:
            drafting.finish()
        self._transcript.append(ChatTurn(role="assistant", text=got.text, calls=got.asked))
        await self._run_calls(reading, repeated)
        self._transcript += report_unreadable(unreadable)
        return bool(self.pending)

    async def _run_calls(self, reading: ParsedAnswer, repeated: Sequence[str]) -> None:
        """Run the calls of one answer in order and record each result.

        `repeated` holds for each call the reason not to run it, if it is a quotation.
        """
        most = self._context.services.settings.personas.calls
        response = new_id()
        full = ""
        for number, wanted in enumerate(reading.calls):
            if full or number >= most:
                rest = len(reading.calls) - number
                reason = full or f"One answer may hold {most} calls."
                self._add_result(wanted, f"{rest} more calls of this answer were not made. {reason}")
                for unread in reading.calls[number + 1 :] if wanted.id else ():
                    self._add_result(unread, "It was not made for the same reason.")
                break
            if repeated[number] or self._was_denied(wanted):
                self._add_result(wanted, repeated[number] or _DENIED_BEFORE)
                continue
            back = await self.tool_calls.run(wanted, response, self._rounds)
            self._add_result(wanted, back.text)
            if back.waits is not None:
                self.pending.append(back.waits)
            if back.outcome.status == "refused" and back.outcome.rule.startswith("recipe: maxCommandsPerResponse"):
                full = back.outcome.message

    def _was_denied(self, wanted: ParsedCall) -> bool:
        """Whether this same call was denied or expired earlier in this turn."""
        if not self._denied:
            return False
        asked = [
            ParsedCall(name=one.command, params=one.params) for one in (self.tool_calls.card(wanted), *self._denied)
        ]
        return self._quotations.contains(asked[0], asked[1:])

    async def _find_quotations(self, reading: ParsedAnswer, scene: TurnContext, given: Prompt) -> list[str]:
        """Return for each call the reason not to run it, if it quotes others or the output of a command.

        The persona's own earlier messages count too: they do not contain its calls, but may quote others.
        """
        said = given.turns[: len(given.turns) - len(self._transcript)]
        results = [turn for turn in self._transcript if turn.role == "result"]
        others = [one for one in scene.history if one.sender != self._persona.id]
        cards = [part for one in others for part in one.attachments if isinstance(part, Card)]
        made = [ParsedCall(name=card.command, params=card.params) for card in cards]
        texts = [turn.text for turn in (*said, *results)]
        return await asyncio.to_thread(self._quotations.reasons_not_to_run, reading.calls, texts, made)

    def _add_result(self, wanted: ParsedCall, text: str) -> None:
        self._transcript.append(ChatTurn(role="result", text=text, answers=wanted.id, tool=wanted.name[:64]))

    def _correct(self, got: ModelAnswer) -> None:
        """Tell a model that only talks about commands how to run one; done once per turn."""
        self._corrected = True
        self._transcript.append(ChatTurn(role="assistant", text=got.text))
        self._transcript.append(ChatTurn(role="result", text=correct_missing_call("the room")))

    async def _post(self, text: str, drafting: RoomDraft | None = None, note: str = "") -> None:
        text, self._fallback_note = append_note("\n\n".join(filter(None, (self._fallback_note, text))), note), ""
        message = None
        try:
            if self._is_active():
                message = await self._context.services.messages.post(
                    self._room, self._persona.id, "ai", text, behalf=self.tool_calls.credential.asker
                )
        finally:
            if drafting is not None:
                drafting.finish(message)


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
