"""What a prompt shows: who asks, where and what, what was asked before, and what came of the calls made so far."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doorward.agents.house.results import understood
from doorward.agents.house.telling import Got
from doorward.agents.house.viewing import inward
from doorward.agents.models.model import ChatTurn, Prompt, ToolSpec

_WHERE = re.compile(
    r"You are (?P<name>[^\n]{1,100}?), (?:known as @(?P<id>[\w.-]{1,63}), )?an AI in the room '(?P<room>[^']{1,63})'"
)
_MOST_EARLIER = 5
_COURTESY = re.compile(r"(?:please|hey|hi|hello|ok|okay|so|now|well|dear)[,:!. ]+", re.IGNORECASE)


class Seen:
    def __init__(self, prompt: Prompt) -> None:
        where = _WHERE.search(prompt.instructions)
        self.room = where["room"] if where else ""
        self.names: tuple[str, ...] = tuple(one for one in (where["id"], where["name"]) if one) if where else ()
        turns = prompt.turns
        asked = [number for number, turn in enumerate(turns) if turn.role == "user" and not turn.marked]
        last = asked[-1] if asked else -1
        self.whole, self.speaker = (turns[last].text, turns[last].speaker) if last >= 0 else ("", "")
        self.question = unaddressed(self.whole, self.names)
        after = turns[last + 1 :]
        self.folder = prompt.folder
        """Where the session is, from which every path is seen here."""
        got = [understood(turn, _arguments(after, turn)) for turn in after if _counts(turn)]
        self.results: list[Got] = [inward(one, prompt.folder) for one in got]
        """A result that belongs to no tool is advice to a model that can learn from it."""
        self.earlier: tuple[str, ...] = tuple(
            unaddressed(turns[number].text, self.names)
            for number in asked[:-1][::-1]
            if turns[number].speaker == self.speaker
        )[:_MOST_EARLIER]
        """What the same person asked before, the newest first."""
        before = (turn.text for turn in reversed(turns[: max(last, 0)]) if turn.role == "assistant" and turn.text)
        self.answered = next(before, "")
        """What was answered last before."""
        self.changes = prompt.changes
        """What was changed before in the same conversation, and can be taken back."""
        self.tools: dict[str, ToolSpec] = {
            tool.command or tool.name.replace("_", "/", 1): tool for tool in prompt.tools
        }
        """What may be called, by its own name."""


def unaddressed(text: str, names: Sequence[str]) -> str:
    """A message without the name of who is asked, at its beginning or its end."""
    text = text.strip()
    known = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True) if one)
    if not known:
        return text
    named = re.compile(rf"@?(?:{known})(?![\w.-]*\w)[,:!. ]*", re.IGNORECASE)
    rest = text
    while rest:
        found = named.match(rest) or _COURTESY.match(rest)
        if found is None or found.end() == len(rest):
            break
        rest = rest[found.end() :]
    rest = re.sub(rf",? @?(?:{known})[.!? ]*$|(?<![\w@.-])@(?:{known})(?![\w-])", "", rest, flags=re.IGNORECASE)
    rest = rest.strip()
    return text if not rest or named.fullmatch(rest) else rest


def _counts(turn: ChatTurn) -> bool:
    return turn.role == "result" and bool(turn.tool)


def _arguments(turns: Sequence[ChatTurn], result: ChatTurn) -> str:
    """What the call of a result was given, as far as its turn is still shown."""
    calls = (call for turn in turns if turn.role == "assistant" for call in turn.calls)
    return next((call.arguments for call in calls if result.answers and call.id == result.answers), "")
