"""A conversation as a prompt shows it: who asks what, what was asked before, and the results of the calls so far."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doorward.agents.house.results import ToolResult, read_result
from doorward.agents.house.session_paths import from_workspace
from doorward.agents.models.model import ChatTurn, Prompt, ToolSpec

_WHERE = re.compile(
    r"You are (?P<name>[^\n]{1,100}?), (?:known as @(?P<id>[\w.-]{1,63}), )?an AI in the room '(?P<room>[^']{1,63})'"
)
_MAX_EARLIER = 5
_COURTESY = re.compile(r"(?:please|hey|hi|hello|ok|okay|so|now|well|dear)[,:!. ]+", re.IGNORECASE)


class Conversation:
    def __init__(self, prompt: Prompt) -> None:
        where = _WHERE.search(prompt.instructions)
        self.room = where["room"] if where else ""
        self.names: tuple[str, ...] = tuple(one for one in (where["id"], where["name"]) if one) if where else ()
        turns = prompt.turns
        asked = [number for number, turn in enumerate(turns) if turn.role == "user" and not turn.marked]
        last = asked[-1] if asked else -1
        self.whole, self.speaker = (turns[last].text, turns[last].speaker) if last >= 0 else ("", "")
        self.question = strip_address(self.whole, self.names)
        """The request, without the name of the persona."""
        after = turns[last + 1 :]
        self.folder = prompt.folder
        self.results: list[ToolResult] = [
            from_workspace(read_result(turn, _arguments(after, turn)), prompt.folder)
            for turn in after
            if turn.role == "result" and turn.tool
        ]
        """The results of this request's calls. A result without a tool is advice to models, and left out."""
        self.earlier: tuple[str, ...] = tuple(
            strip_address(turns[number].text, self.names)
            for number in asked[:-1][::-1]
            if turns[number].speaker == self.speaker
        )[:_MAX_EARLIER]
        """Earlier requests of the same person, newest first."""
        before = (turn.text for turn in reversed(turns[: max(last, 0)]) if turn.role == "assistant" and turn.text)
        self.last_answer = next(before, "")
        self.changes = prompt.changes
        self.tools: dict[str, ToolSpec] = {
            tool.command or tool.name.replace("_", "/", 1): tool for tool in prompt.tools
        }
        """The offered commands by name."""
        self.data = prompt.data
        self.files = prompt.files


def strip_address(text: str, names: Sequence[str]) -> str:
    """Return a message without the name of the persona at its start or end."""
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


def _arguments(turns: Sequence[ChatTurn], result: ChatTurn) -> str:
    """Return the arguments of the call of a result, if its turn is shown."""
    calls = (call for turn in turns if turn.role == "assistant" for call in turn.calls)
    return next((call.arguments for call in calls if result.answers and call.id == result.answers), "")
