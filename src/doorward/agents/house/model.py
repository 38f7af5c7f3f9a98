"""The house model: a model that needs no key and no network, and understands a request by what this house holds.

It sees what any model sees, a prompt, and asks for commands as any model does. It keeps nothing between answers: the
plan is made anew from the request and from the results of its calls. What it says about a result comes from that
result, and nothing in a result is ever read as a request.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, tzinfo
from typing import Any

import msgspec

from doorward.agents.calls.answer_parser import parse_in_thread
from doorward.agents.house import safeguards
from doorward.agents.house.conversation import Conversation
from doorward.agents.house.plan import Reply, Step, Unknown, advance
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import describe_results, quote
from doorward.agents.house.session_paths import from_workspace, to_workspace
from doorward.agents.house.understanding import understand
from doorward.agents.models.model import (
    AnswerPiece,
    ChatTurn,
    NativeCall,
    NoAction,
    Prompt,
    SuggestedStep,
    TextPiece,
    TokenUsage,
    ToolSpec,
)
from doorward.store.collection_profiles import CollectionProfile

_MAX_SECONDS = 120.0
"""How long the steps of one request may take and still belong to the moment in which it was made."""
_MAX_MOMENTS = 50
_WAITS = "For that a person has to agree first."


class Suggested(msgspec.Struct, frozen=True):
    """The call that the house model would make first for a request. It has not run."""

    command: str
    params: dict[str, Any]
    score: float
    """From 0 to 1."""
    reason: str
    alternatives: tuple[str, ...] = ()
    """Other commands that came near."""
    lookups: tuple[Step, ...] = ()
    """Calls that must run before the suggested call is known."""


class HouseModel:
    """Rules and what this house holds in the place of a language model: deterministic, and honest about it."""

    name = "house"

    def __init__(self, now: Callable[[], float] = time.time, zone: tzinfo = UTC) -> None:
        self._now = now
        self._zone = zone
        self._moments: dict[str, float] = {}

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        calls, reply = self._next(prompt)
        for one in calls:
            yield one
        text = reply.text
        if text:
            text = await _without_calls(text)
            yield TextPiece(text)
        if not calls and reply.kind != "answer":
            yield NoAction(understood=reply.kind == "declined")
        yield TokenUsage(self.count(prompt.instructions), self.count(text))

    def count(self, text: str) -> int:
        """A token of the house model is a byte, because nothing of it is paid for."""
        return len(text.encode(errors="replace"))

    def suggest(
        self,
        request: str,
        tools: Sequence[ToolSpec],
        now: float | None = None,
        results: Sequence[ToolResult] = (),
        speaker: str = "",
        folder: str | None = "",
        data: tuple[CollectionProfile, ...] = (),
    ) -> Suggested | None:
        """Return the call that it would make for a request in this folder; None if it knows none.

        If it must look something up first, it returns that, and is asked again with the results.
        """
        turn = ChatTurn(role="user", text=request, speaker=speaker)
        prompt = Prompt(instructions="", turns=(turn,), tools=tuple(tools), data=data, folder=folder)
        conversation = Conversation(prompt)
        moment = self._now() if now is None else now
        reading = understand(RequestContext(conversation, conversation.question, moment, self._zone))
        if isinstance(reading, Reply):
            return None
        wanted = _placed(advance(reading, [from_workspace(one, folder) for one in results]), folder, request)
        if isinstance(wanted, Reply) or not wanted:
            return None
        step = wanted[0]
        lookups = tuple(wanted) if step.lookup else ()
        score = round(min(reading.score, 1.0), 2)
        return Suggested(
            step.command, step.params, score, f"understood as {reading.says or reading.name!r}", (), lookups
        )

    def suggest_step(self, prompt: Prompt) -> SuggestedStep | None:
        """Return the next step for a prompt of another model; None unless the request is surely understood."""
        conversation = Conversation(prompt)
        context = RequestContext(conversation, conversation.question, self._moment(conversation), self._zone)
        reading = understand(context)
        if isinstance(reading, Reply) or reading.guessed:
            return None
        steps = advance(reading, conversation.results, exact=True)
        wanted = _placed(steps, conversation.folder, conversation.whole)
        if isinstance(wanted, Reply):
            return SuggestedStep(answer=wanted.text) if wanted.kind == "answer" and wanted.text else None
        if not wanted or safeguards.refuse_destruction(conversation.tools, reading, wanted[:1]):
            return None
        return SuggestedStep(wanted[0].command, wanted[0].params)

    def _moment(self, conversation: Conversation) -> float:
        """Return when the request was made, so that its times mean the same in every step."""
        now = self._now()
        asked = self._moments.get(conversation.whole, now) if conversation.results else now
        if not 0 <= now - asked <= _MAX_SECONDS:
            asked = now
        self._moments.pop(conversation.whole, None)
        self._moments[conversation.whole] = asked
        if len(self._moments) > _MAX_MOMENTS:
            self._moments.pop(next(iter(self._moments)))
        return asked

    def _next(self, prompt: Prompt) -> tuple[list[NativeCall], Reply]:
        """Return the next calls, or the answer."""
        conversation = Conversation(prompt)
        context = RequestContext(conversation, conversation.question, self._moment(conversation), self._zone)
        reading = understand(context)
        if isinstance(reading, Reply):
            if conversation.results:
                return [], Reply(describe_results(conversation.results))
            return [], reading
        wanted = _placed(advance(reading, conversation.results), conversation.folder, conversation.whole)
        if isinstance(wanted, Reply):
            return [], wanted
        refused = safeguards.refuse_destruction(conversation.tools, reading, wanted)
        if refused:
            return [], Reply(refused, "declined")
        return _calls(wanted, conversation)


def _placed(wanted: list[Step] | Reply, folder: str | None, request: str) -> list[Step] | Reply:
    """Return the steps of a plan with the paths that the commands take."""
    if isinstance(wanted, Reply):
        return wanted
    try:
        return [to_workspace(step, folder, request) for step in wanted]
    except Unknown as error:
        return Reply(str(error), "unknown")


def _calls(steps: list[Step], conversation: Conversation) -> tuple[list[NativeCall], Reply]:
    made = []
    for number, step in enumerate(steps, len(conversation.results) + 1):
        tool = conversation.tools[step.command]
        made.append(NativeCall(f"house-{number}", tool.name, msgspec.json.encode(step.params).decode()))
    waits = any(safeguards.needs_approval(conversation.tools[step.command]) for step in steps)
    return made, Reply(_WAITS if waits else "")


async def _without_calls(text: str) -> str:
    """Return an answer that no parser takes for a call: it quotes people, files and programs."""
    reading = await parse_in_thread(text)
    return quote(text) if reading.calls or reading.faults else text
