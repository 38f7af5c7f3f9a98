"""The stand-in: a model without a language model, that needs no key and no network and answers by rules.

It sees what any model sees, a prompt, and asks for commands as any model does. What it says about a result comes from
that result. Its rules and words are data in standin.json.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.calls.reading import read_aside
from doorward.agents.models.model import Asked, Piece, Prompt, Spent, Text
from doorward.agents.models.standin_matching import Match, matching, topic
from doorward.agents.models.standin_rules import Call, Rule, book
from doorward.agents.models.standin_telling import in_a_row, quoted, told, understood
from doorward.clock import iso

SUGGESTIONS = book().suggestions

_WHERE = re.compile(
    r"You are (?P<name>[^\n]{1,100}?), (?:known as @(?P<id>[\w.-]{1,63}), )?an AI in the room '(?P<room>[^']{1,63})'"
)
_DAY = 86_400
_NEEDS_APPROVAL = "waits for a person's approval"


def greeting() -> str:
    """The first words in a house where nobody has said anything yet."""
    return book().greeting.format(suggestions="\n".join(f"- {one}" for one in SUGGESTIONS))


class StandIn:
    """Rules in the place of a model: deterministic, and honest about what it is."""

    name = "house"

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now

    async def answer(self, prompt: Prompt) -> AsyncIterator[Piece]:
        seen = _Seen(prompt)
        found = matching(seen.question, seen.names)
        if seen.results:
            text = self._told(found, seen)
        elif found is None:
            text = book().not_understood[seen.answered in book().not_understood]
        elif found.stopped:
            text = _did_nothing(found)
        elif not found.rule.calls:
            text = found.rule.text or (_help(prompt) if found.rule.say == "help" else _hello(prompt))
        else:
            asked, text = self._asked(found, seen, prompt)
            for one in asked:
                yield one
        if text:
            yield Text(await _harmless(text))
        yield Spent(self.count(prompt.instructions), self.count(text))

    def count(self, text: str) -> int:
        """A token of the stand-in is a byte, since nothing of it is ever paid for."""
        return len(text.encode(errors="replace"))

    def _asked(self, found: Match, seen: _Seen, prompt: Prompt) -> tuple[list[Asked], str]:
        """The calls of a rule, or a sentence that says which commands are missing for them."""
        offered = {tool.name: tool for tool in prompt.tools}
        asked: list[Asked] = []
        missing: list[str] = []
        for number, call in enumerate(found.rule.calls):
            if call.instead is not None:
                continue
            chosen = _chosen(found.rule.calls, number, offered)
            if chosen is None:
                missing.append(call.tools[0].replace("_", "/", 1))
                continue
            tool, how = chosen
            params = self._params(how.params, found, seen)
            asked.append(Asked(f"house-{len(asked) + 1}", tool, msgspec.json.encode(params).decode()))
        if not asked:
            if not prompt.tools:
                return [], book().no_commands
            return [], book().not_offered.format(commands=in_a_row(missing))
        waits = any(_NEEDS_APPROVAL in offered[one.name].description for one in asked)
        return asked, book().waits if waits else ""

    def _params(self, params: Mapping[str, Any], found: Match, seen: _Seen) -> dict[str, Any]:
        known = {"room": seen.room, "speaker": seen.speaker, "topic": " ".join(seen.topic), **found.caught}
        return {key: self._filled(value, known, seen) for key, value in params.items()}

    def _filled(self, value: Any, known: Mapping[str, str], seen: _Seen) -> Any:
        if isinstance(value, str):
            return known[value[1:-1]] if value.startswith("{") and value[1:-1] in known else value
        if isinstance(value, dict):
            return {key: self._filled(one, known, seen) for key, one in value.items()}
        if isinstance(value, list):
            made = [self._condition(one, known, seen) for one in value]
            return [one for one in made if one is not None]
        return value

    def _condition(self, value: Any, known: Mapping[str, str], seen: _Seen) -> Any:
        """A part of a filter: `@words` for the words that were asked about, `@since` for the time that was."""
        if value == "@words":
            return {"$or": [{"text": {"$ilike": f"%{word}%"}} for word in seen.topic]} if seen.topic else None
        if value == "@since":
            days = next((many for words, many in book().since_days.items() if words in seen.question.lower()), 0)
            return {"at": {"$gte": iso(self._now() - days * _DAY)}} if days else None
        return self._filled(value, known, seen)

    def _told(self, found: Match | None, seen: _Seen) -> str:
        calls = {tool: call for call in (found.rule.calls if found else ()) for tool in call.tools}
        period = next((f" ({words})" for words in book().since_days if words in seen.question.lower()), "")
        parts: list[str] = []
        verdict = found.rule.verdict if found else None
        for result in seen.results:
            call = calls.get(result.tool)
            if verdict is not None and result.tool == verdict.tool and result.items is not None:
                parts.insert(0, verdict.some if result.items else verdict.none)
            teller = book().teller((call.shown_as if call else "") or result.tool)
            parts.append(told(result, teller, wanted=seen.topic, question=seen.question, period=period))
        return _joined(parts)


class _Seen:
    """What a prompt shows: who asks, where and what, and what came of the calls that were made for it."""

    def __init__(self, prompt: Prompt) -> None:
        where = _WHERE.search(prompt.instructions)
        self.room = where["room"] if where else ""
        self.names = tuple(one for one in (where["id"], where["name"]) if one) if where else ()
        turns = prompt.turns
        last = max((number for number, turn in enumerate(turns) if turn.role == "user"), default=-1)
        self.question, self.speaker = (turns[last].text, turns[last].speaker) if last >= 0 else ("", "")
        self.topic = topic(self.question, self.names)
        after = turns[last + 1 :]
        self.results = [understood(turn) for turn in after if turn.role == "result" and turn.tool]
        """A result that belongs to no tool is advice to a model that can learn from it."""
        before = (turn.text for turn in reversed(turns[: max(last, 0)]) if turn.role == "assistant" and turn.text)
        self.answered = next(before, "")
        """What the persona said last before."""


def _chosen(calls: tuple[Call, ...], number: int, offered: Mapping[str, Any]) -> tuple[str, Call] | None:
    """The tool of a call that is offered, or of another that may be made in its place."""
    for call in (calls[number], *(one for one in calls if one.instead == number)):
        for tool in call.tools:
            if tool in offered:
                return tool, call
    return None


def _did_nothing(found: Match) -> str:
    words = book()
    how = words.how_to_ask.format(ask=found.rule.ask) if found.rule.ask else words.how_else
    return f"{words.did_nothing.format(why=found.stopped)}\n{how}"


def _help(prompt: Prompt) -> str:
    """What it can be asked here: only questions whose commands are offered."""
    words = book()
    if not prompt.tools:
        return words.no_commands
    areas = sorted({tool.name.partition("_")[0] for tool in prompt.tools})
    shown = {what: _possible(asks, prompt) for what, asks in words.abilities.items()}
    lines = [f"- {what}: " + ", ".join(f'"{one}"' for one in asks) for what, asks in shown.items() if asks]
    return words.help.format(abilities="\n".join(lines), count=len(prompt.tools), areas=in_a_row(areas))


def _hello(prompt: Prompt) -> str:
    asks = _possible(SUGGESTIONS, prompt)
    return book().hello.format(suggestions="\n".join(f"- {one}" for one in asks)) if asks else book().no_commands


def _possible(asks: Sequence[str], prompt: Prompt) -> list[str]:
    """Those of some questions that the offered commands can answer."""
    offered = {tool.name: tool for tool in prompt.tools}
    found = ((one, matching(one)) for one in asks)
    return [one for one, match in found if match is not None and _runs(match.rule, offered)]


def _runs(rule: Rule, offered: Mapping[str, Any]) -> bool:
    first = (number for number, call in enumerate(rule.calls) if call.instead is None)
    return all(_chosen(rule.calls, number, offered) is not None for number in first)


def _joined(parts: list[str]) -> str:
    """Sentences side by side, and lists on lines of their own."""
    text = ""
    for part in parts:
        text += part if not text else f"\n\n{part}" if "\n" in part or "\n" in text else f" {part}"
    return text


async def _harmless(text: str) -> str:
    """What it says never holds a call: it quotes people, files and programs, and runs nothing that they wrote."""
    reading = await read_aside(text)
    return quoted(text) if reading.calls or reading.faults else text
