"""Parse an AI's answer into its calls, its unreadable calls, and the prose around them.

The answer is read once, from start to end. At each opening (a line, a fence, a tag, a special token, a quotation) one
reader decides what it is and where it ends, and reading continues after it. So the inside of a value, a quotation or
an example is never read as a call. docs/CALLS.md lists every spelling.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from doorward.agents.calls import fences, jsoncalls, lines, pythonic, react, tags, tokens
from doorward.agents.calls.examples import Before
from doorward.agents.calls.found import Found
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Reading, Wanted

MOST_CALLS = 50
MOST_FAULTS = 10
_AT_ONCE = 4_000
"""Answers up to this length are parsed within a few hundredths of a second."""

_THOUGHTS = r"think|thinking|thought|reasoning"
_RESULTS = r"tool_response|tool_result|tool_output|function_results?|function_response|observation"

_BRACKETED = (
    rf"(?P<thought>(?P<thinks>{_THOUGHTS})>)",
    rf"(?P<result>(?P<told>{_RESULTS})>)",
    rf"(?P<tags>{tags.OPENING})",
    rf"(?P<closing>{tags.CLOSING})",
    r"(?P<comment>!--)",
    r"(?P<analysis>\|channel\|>analysis<\|message\|>)",
    r"(?P<final>(?:\|start\|>assistant<)?\|channel\|>final<\|message\|>)",
    rf"(?P<token>{tokens.OPENING})",
    rf"(?P<named>{tokens.NAMED_OPENING})",
    rf"(?P<remains>{tokens.REMAINS})",
)
_AT_LINE = (
    r"(?P<quotation>>[^\n]*+)",
    rf"(?P<block>{fences.OPENING})",
    rf"(?P<line>{lines.OPENING})",
    rf"(?P<action>{react.OPENING})",
    r"(?P<json>(?=[\[{]\s*+[\"'\[{]))",
)
_ANYWHERE = (
    rf"(?P<sentence>{lines.BEHIND_A_SENTENCE})",
    rf"(?P<other_token>{tokens.OTHER_OPENING})",
    rf"(?P<other_named>{tokens.OTHER_NAMED})",
    rf"(?P<other_remains>{tokens.OTHER_REMAINS})",
    r"(?P<code>`{1,3}+)",
    r"(?P<list>\A\s*+\[\s*+(?=[A-Za-z_][A-Za-z0-9_./-]{0,199}\())",
)
_OPENING = re.compile(
    rf"<(?:{'|'.join(_BRACKETED)})|^[ \t]*+(?:{'|'.join(_AT_LINE)})|{'|'.join(_ANYWHERE)}", re.MULTILINE
)
_MANY_LINES = re.compile(r"\n[ \t]*+\n(?:[ \t]*+\n)++")
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
_QUOTES = re.compile(r"[ \t]*+>")
_BARE_MARK = re.compile(r"^[ \t]*+(?:(?:[-*+•]|\d{1,3}[.)])[ \t]*+|Action:\s*+)\Z", re.MULTILINE)


def read(answer: str) -> Reading:
    """Parse a model's own answer.

    Never pass text of a person, a command or a file to this function: only AIs make calls, and everything else is
    data.
    """
    return _Reader(answer).reading()


async def read_aside(answer: str) -> Reading:
    """Parse an answer, in a thread if it is long, because its author decides what it costs to parse."""
    return read(answer) if len(answer) <= _AT_ONCE else await asyncio.to_thread(read, answer)


class _Reader:
    def __init__(self, answer: str, *, nested: bool = False) -> None:
        self.page = Page(answer)
        self._nested = nested
        self._before = Before()
        self._calls: list[Wanted] = []
        self._faults: list[str] = []
        self._prose: list[str] = []
        self._readers: dict[str, Callable[[re.Match[str]], Found | None]] = {
            "thought": self._thought,
            "analysis": self._analysis,
            "final": lambda opening: Found(end=opening.end()),
            "comment": lambda opening: self._region(opening, "-->"),
            "result": lambda opening: self._region(opening, f"</{opening['told']}>"),
            "quotation": lambda opening: Found(end=opening.end(), kept=True),
            "block": self._block,
            "line": self._line,
            "sentence": self._sentence,
            "code": self._code,
            "action": lambda opening: react.action(self.page, opening),
            "tags": lambda opening: tags.tag(self.page, opening),
            "closing": lambda opening: Found(end=opening.end()),
            "token": lambda opening: tokens.marked(self.page, opening),
            "named": lambda opening: tokens.named(self.page, opening),
            "other_token": lambda opening: tokens.marked(self.page, opening),
            "other_named": lambda opening: tokens.named(self.page, opening),
            "remains": lambda opening: Found(end=opening.end()),
            "other_remains": lambda opening: Found(end=opening.end()),
            "list": self._list,
            "json": self._json,
        }

    def reading(self) -> Reading:
        page, at = self.page, self._after_first_thought()
        while (opening := page.search(_OPENING, at)) is not None:
            self._say(page.text[at : opening.start()])
            way = next(name for name in self._readers if opening[name] is not None)
            found = self._readers[way](opening)
            if found is None:
                at = max(opening.end(), opening.start() + 1)
                self._say(page.text[opening.start() : at])
            else:
                at = found.end
                self._take(way, opening, found)
        self._say(page.text[at:])
        return Reading(calls=tuple(self._calls[:MOST_CALLS]), faults=self._told(), prose=_tidy("".join(self._prose)))

    def _take(self, way: str, opening: re.Match[str], found: Found) -> None:
        whole = self.page.text[opening.start() : found.end]
        if found.calls or found.faults:
            if self._is_example(way, found.end):
                self._prose.append(whole)
            else:
                self._prose.append(_BARE_MARK.sub("", self._prose.pop()) if self._prose else "")
                self._calls += found.calls
                self._faults += found.faults
            self._before.call()
        elif found.kept:
            self._prose.append(whole)
            if way == "block":
                self._before.block()
        elif found.says:
            self._prose.append(found.says)

    def _is_example(self, way: str, end: int) -> bool:
        if way == "sentence" and self._before.tells:
            return True
        return self._before.is_example or self._before.quoted(self._quotation_closes(end))

    def _quotation_closes(self, at: int) -> bool:
        """Whether a quotation mark follows in the same paragraph."""
        page, ends = self.page, [place for mark in '"”»' if (place := self.page.find(mark, at)) >= 0]
        empty = page.find("\n\n", at)
        return bool(ends) and (empty < 0 or min(ends) < empty)

    def _say(self, words: str) -> None:
        self._prose.append(words)
        self._before.prose(words)

    def _told(self) -> tuple[str, ...]:
        told = self._faults[:MOST_FAULTS]
        if len(self._faults) > MOST_FAULTS:
            told.append(f"{len(self._faults) - MOST_FAULTS} more calls cannot be read.")
        if len(self._calls) > MOST_CALLS:
            more = len(self._calls) - MOST_CALLS
            told.append(
                f"Only the first {MOST_CALLS} of your calls were read; {more} more in the same answer were not made."
            )
        return tuple(told)

    def _after_first_thought(self) -> int:
        """Return where the answer starts if it opens inside a thought whose opening tag was part of the prompt."""
        end = self.page.find("</think>", 0)
        begin = self.page.find("<think>", 0)
        return end + len("</think>") if end >= 0 and not 0 <= begin < end and not self._is_quoted(end) else 0

    def _is_quoted(self, at: int) -> bool:
        """Whether a position lies in a quotation or a fenced block."""
        before = self.page.text[:at]
        fences_before = sum(1 for _ in _FENCE.finditer(before))
        return _QUOTES.match(before, before.rfind("\n") + 1) is not None or fences_before % 2 == 1

    def _thought(self, opening: re.Match[str]) -> Found:
        """Skip a thought: it holds no calls and is not shown."""
        closing = f"</{opening['thinks']}>"
        end = self.page.find(closing, opening.end())
        if end < 0:
            why = f"Your answer ends inside a thought. Close it with {closing} and write your answer after it."
            return Found(end=len(self.page.text), faults=(why,))
        return Found(end=end + len(closing))

    def _analysis(self, opening: re.Match[str]) -> Found:
        end = self.page.find("<|end|>", opening.end())
        return Found(end=len(self.page.text) if end < 0 else end + len("<|end|>"))

    def _region(self, opening: re.Match[str], closing: str) -> Found:
        """Keep text that a model shows as somebody else's, such as the result of a call."""
        end = self.page.find(closing, opening.end())
        return Found(end=len(self.page.text) if end < 0 else end + len(closing), kept=True)

    def _block(self, opening: re.Match[str]) -> Found | None:
        if self._nested:
            return None
        return fences.fence(self.page, opening, lambda inside: _Reader(inside, nested=True).reading())

    def _line(self, opening: re.Match[str]) -> Found | None:
        return lines.line(self.page, opening)

    def _sentence(self, opening: re.Match[str]) -> Found | None:
        return lines.behind_a_sentence(self.page, opening)

    def _code(self, opening: re.Match[str]) -> Found | None:
        """Keep inline code as an example. It ends with the same number of backticks, before an empty line."""
        ticks = opening["code"]
        end = self.page.find(ticks, opening.end())
        if end < 0:
            return None
        empty = self.page.find("\n\n", opening.end())
        return None if 0 <= empty < end else Found(end=end + len(ticks), kept=True)

    def _list(self, opening: re.Match[str]) -> Found | None:
        """Read an answer that is only a list of calls in Python syntax."""
        return pythonic.several(self.page, opening.start(), len(self.page.text))

    def _json(self, opening: re.Match[str]) -> Found | None:
        """Read JSON on lines of its own, or as the whole answer."""
        at = opening.end()
        if self.page.hopeless:
            return None
        end = self.page.end_of_json(at)
        if end < 0:
            rest = self.page.text[at : at + 4_000]
            return jsoncalls.cut_off(rest, len(self.page.text)) if jsoncalls.looks_like_a_call(rest) else None
        if self.page.text[end : self.page.end_of_line(end)].strip():
            return None
        return jsoncalls.read_json(self.page.text[at:end], end, marked=False)


def _tidy(prose: str) -> str:
    return _MANY_LINES.sub("\n\n", prose).strip()
