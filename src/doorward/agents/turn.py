"""One turn of a persona in a room: ask the model, run its calls, give it the results, until it answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence

import msgspec

from doorward.agents import changes
from doorward.agents.answering import Answer
from doorward.agents.calls.reading import read_aside
from doorward.agents.calls.wanted import Reading, Wanted
from doorward.agents.drafts import Drafting
from doorward.agents.errand import Errands, card_of
from doorward.agents.heard import correction, heard, only_talks, told_of
from doorward.agents.models.model import Change, Model, ModelFailed, Prompt, Turn
from doorward.agents.patience import Patience
from doorward.agents.prompting import Scene, call_of, prompt, result_of
from doorward.agents.quoting import Quotations
from doorward.agents.standing_in import must_load, neither, stood_in
from doorward.agents.surroundings import Surroundings
from doorward.command import Command
from doorward.errors import NotFound, Refused
from doorward.ids import new_id
from doorward.names import wire_name
from doorward.personas.persona import Persona
from doorward.recipes.policy import Policy
from doorward.rooms.message import Card, Message
from doorward.rooms.messages import LARGEST_MESSAGE
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Room
from doorward.store.open_calls import OpenCall

log = logging.getLogger(__name__)

NOTHING_SAID = "(I have nothing to add.)"
_DECLINED = (
    "It was not made: people did not approve this same call earlier in this turn, so they are not asked again. Tell "
    "them in words what you need, or do something else."
)


class TurnTaking:
    """A running turn. A restart loses it, except for the stored rows of its open calls."""

    def __init__(
        self, around: Surroundings, persona: Persona, room: Room, asker: str, *, id: str = "", rounds: int = 0
    ) -> None:
        """`asker` is the person whom the persona answers and acts for."""
        self.id = id or new_id()
        self.errands = Errands(around, persona, room, self.id, asker)
        self.waits: list[OpenCall] = []
        """Its calls that wait for approval, if the turn ended for that reason."""
        self.unfinished = ""
        """The part of an answer written before the turn was stopped."""
        self._around = around
        self._persona = persona
        self._room = room
        self._rounds = rounds
        self._so_far: list[Turn] = []
        self._corrected = False
        self._patience = Patience()
        self._instead: Model | None = None
        """The fallback model used in this turn."""
        self._unsaid = ""
        """The note about the fallback, until it is posted."""
        self._declined: list[Card] = []
        """Calls of this turn that were denied or expired."""
        self._quotations = Quotations(around.services.registry)

    async def take(self, topic: Message, result: Turn | None = None) -> None:
        """Answer a message. With a `result`, resume after a call that waited for approval; `topic` is then its card."""
        could_undo = await self._changes()
        newest = await self._around.services.messages.newest(
            self._room, self._around.services.settings.personas.history
        )
        scene = self._scene(newest, topic) if result is None else await self._taken_up(newest, topic, result)
        scene.changes = could_undo
        self.errands.topic = scene.topic.id if scene.topic is not None else ""
        most = self._around.services.settings.personas.rounds
        while self._rounds < most:
            if not self._may_go_on():
                return
            self._rounds += 1
            if await self._round(scene):
                return
        await self._say(
            f"I stop here: I ran commands {most} times without finishing. Ask me to continue if you want me to."
        )

    def _scene(self, newest: Sequence[Message], topic: Message | None) -> Scene:
        return Scene(persona=self._persona, room=self._room, history=tuple(reversed(newest)), topic=topic)

    async def _taken_up(self, newest: Sequence[Message], card: Message, result: Turn) -> Scene:
        """Rebuild a turn as it was when it began to wait. Its calls and their results come last, each once.

        Messages that arrived since are placed before the topic.
        """
        shown = card_of(card)
        topic = await self._asked(newest, card, shown.topic)
        turn = [one for one in newest if one.sender == self._persona.id and shown.topic and _topic(one) == shown.topic]
        self._declined = [card_of(one) for one in turn if card_of(one).code == "not_approved"]
        waited = [card, *(one for one in _last_of(newest, turn) if one.id != card.id)]
        waited.sort(key=lambda one: one.position)
        calls = []
        for one in waited:
            made = card_of(one)
            name = result.tool if one.id == card.id else wire_name(made.command)
            calls.append(msgspec.structs.replace(call_of(one, made), name=name))
        self._so_far.append(Turn(role="assistant", text="", calls=tuple(calls)))
        self._so_far += [result if one.id == card.id else result_of(one, card_of(one)) for one in waited]
        scene = self._scene(newest, topic)
        return msgspec.structs.replace(scene, goes_on=True, aside=frozenset(one.id for one in waited))

    async def _asked(self, newest: Sequence[Message], card: Message, topic: str) -> Message | None:
        """Find the message a call was made for. If its card does not name it, take the last message of a person."""
        for one in newest:
            if one.id == topic if topic else one.position < card.position and one.kind == "human" and one.text:
                return one
        try:
            return await self._around.services.messages.get(self._room, topic) if topic else None
        except NotFound:
            return None

    def _may_go_on(self) -> bool:
        """Whether the persona still exists and is still in this room."""
        room = self._around.services.rooms.get(LOCAL, self._room.id)
        known = self._around.services.personas.get(LOCAL, self._persona.id)
        return room is not None and not room.archived and known is not None and self._persona.id in room.members

    async def _changes(self) -> tuple[Change, ...]:
        """List the persona's changes in this room, for the same person, that it can undo."""
        try:
            caller = self._around.gate.caller(self.errands.credential)
        except Refused:
            return ()
        return await changes.made(self._around.services.store, caller, self._room.id)

    def _offered(self) -> list[Command]:
        """List the commands that the persona may run for the asker."""
        try:
            caller = self._around.gate.caller(self.errands.credential)
        except Refused:
            return []
        return self._around.services.offered(caller, self._room.id)

    async def _round(self, scene: Scene) -> bool:
        """Get one answer and run its calls; return whether the turn is over."""
        services = self._around.services
        offered = self._offered()
        policy = services.recipes.policy(self._room.recipe)
        drafting = Drafting(services.live, self._room, self._persona.id)
        try:
            got, given = await self._thought(scene, offered, policy, drafting)
        except ModelFailed as failure:
            drafting.done()
            await self._say(f"I cannot answer: {failure.message}")
            return True
        except asyncio.CancelledError:
            self.unfinished = drafting.words()
            drafting.done()
            raise
        return await self._heard(got, offered, drafting, scene, given)

    async def _thought(
        self, scene: Scene, offered: Sequence[Command], policy: Policy | None, drafting: Drafting
    ) -> tuple[Answer, Prompt]:
        """Ask the persona's model, or its fallback. The model never changes in the middle of a turn."""
        models, name = self._around.models, self._persona.model
        try:
            return await self._answered(self._instead or models.find(name), scene, offered, policy, drafting)
        except ModelFailed as failure:
            other = None if self._so_far or self._instead is not None else models.instead_of(name)
            if other is None:
                raise
            self._instead, self._unsaid = other, f"({stood_in(name, other.name, failure.message)})"
            try:
                return await self._answered(other, scene, offered, policy, drafting)
            except ModelFailed as second:
                self._unsaid = ""
                raise neither(failure, other.name, second) from second

    async def _answered(
        self, model: Model, scene: Scene, offered: Sequence[Command], policy: Policy | None, drafting: Drafting
    ) -> tuple[Answer, Prompt]:
        if (loads := must_load(model)) is not None:
            with self._waiting():
                await loads.load()
        given = await asyncio.to_thread(prompt, scene, offered, policy, model, tuple(self._so_far))
        limits = self._around.services.settings.personas
        return await self._patience.answer(model, given, limits, drafting.told, self._waiting), given

    @contextlib.contextmanager
    def _waiting(self, _seconds: float = 0.0) -> Iterator[None]:
        """Show the persona as waiting in the room."""
        live = self._around.services.live
        live.thinking(self._room, self._persona.id, "waiting")
        yield
        live.thinking(self._room, self._persona.id, "thinking")

    async def _heard(
        self, got: Answer, offered: Sequence[Command], drafting: Drafting, scene: Scene, given: Prompt
    ) -> bool:
        if got.cut:
            prose = (await read_aside(got.text)).prose
            await self._say(prose, drafting, note=f"({got.cut})")
            return True
        reading, unreadable = await heard(got)
        if not reading.calls and not unreadable:
            if not self._corrected and only_talks(reading.prose, offered):
                drafting.done()
                self._correct(got)
                return False
            await self._say(reading.prose or NOTHING_SAID, drafting)
            return True
        repeated = [""] * len(reading.calls) if got.asked else await self._repeated(reading, scene, given)
        if reading.prose or self._unsaid:
            await self._say(reading.prose, drafting)
        else:
            drafting.done()
        self._so_far.append(Turn(role="assistant", text=got.text, calls=got.asked))
        await self._run(reading, repeated)
        self._so_far += told_of(unreadable)
        return bool(self.waits)

    async def _run(self, reading: Reading, repeated: Sequence[str]) -> None:
        """Run the calls of one answer in order and record each result.

        `repeated` holds for each call the reason not to run it, if it is a quotation.
        """
        most = self._around.services.settings.personas.calls
        response = new_id()
        full = ""
        for number, wanted in enumerate(reading.calls):
            if full or number >= most:
                rest = len(reading.calls) - number
                reason = full or f"One answer may hold {most} calls."
                self._result(wanted, f"{rest} more calls of this answer were not made. {reason}")
                for unread in reading.calls[number + 1 :] if wanted.id else ():
                    self._result(unread, "It was not made for the same reason.")
                break
            if repeated[number] or self._was_declined(wanted):
                self._result(wanted, repeated[number] or _DECLINED)
                continue
            back = await self.errands.run(wanted, response, self._rounds)
            self._result(wanted, back.text)
            if back.waits is not None:
                self.waits.append(back.waits)
            if back.outcome.status == "refused" and back.outcome.rule.startswith("recipe: maxCommandsPerResponse"):
                full = back.outcome.message

    def _was_declined(self, wanted: Wanted) -> bool:
        """Whether this same call was denied or expired earlier in this turn."""
        if not self._declined:
            return False
        asked = [Wanted(name=one.command, params=one.params) for one in (self.errands.card(wanted), *self._declined)]
        return self._quotations.same(asked[0], asked[1:])

    async def _repeated(self, reading: Reading, scene: Scene, given: Prompt) -> list[str]:
        """Return for each call the reason not to run it, if it quotes others or the output of a command.

        The persona's own earlier messages count too: they do not contain its calls, but may quote others.
        """
        said = given.turns[: len(given.turns) - len(self._so_far)]
        results = [turn for turn in self._so_far if turn.role == "result"]
        others = [one for one in scene.history if one.sender != self._persona.id]
        cards = [part for one in others for part in one.attachments if isinstance(part, Card)]
        made = [Wanted(name=card.command, params=card.params) for card in cards]
        texts = [turn.text for turn in (*said, *results)]
        return await asyncio.to_thread(self._quotations.why_not, reading.calls, texts, made)

    def _result(self, wanted: Wanted, text: str) -> None:
        self._so_far.append(Turn(role="result", text=text, answers=wanted.id, tool=wanted.name[:64]))

    def _correct(self, got: Answer) -> None:
        """Tell a model that only talks about commands how to run one; done once per turn."""
        self._corrected = True
        self._so_far.append(Turn(role="assistant", text=got.text))
        self._so_far.append(Turn(role="result", text=correction("the room")))

    async def _say(self, text: str, drafting: Drafting | None = None, note: str = "") -> None:
        text, self._unsaid = with_note("\n\n".join(filter(None, (self._unsaid, text))), note), ""
        message = None
        try:
            if self._may_go_on():
                message = await self._around.services.messages.say(
                    self._room, self._persona.id, "ai", text, behalf=self.errands.credential.asker
                )
        finally:
            if drafting is not None:
                drafting.done(message)


def with_note(text: str, note: str) -> str:
    """Append a note to a text and cut the text to the size of one message; the note says so."""
    if len(text) + (len(note) + 2 if note else 0) > LARGEST_MESSAGE:
        note = note or f"(cut here; the answer had {len(text)} characters)"
        text = text[: LARGEST_MESSAGE - len(note) - 2]
    return f"{text}\n\n{note}" if text and note else text or note


def _topic(message: Message) -> str:
    return card_of(message).topic


def _last_of(newest: Sequence[Message], turn: Sequence[Message]) -> list[Message]:
    """Return the adjacent calls at the end of a turn that needed approval."""
    found: list[Message] = []
    own = [one for one in newest if turn and one.sender == turn[0].sender and one.position <= turn[0].position]
    for one in own:
        if one not in turn or not card_of(one).approval:
            break
        found.append(one)
    return found
