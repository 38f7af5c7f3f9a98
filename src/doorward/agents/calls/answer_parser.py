"""Parses an AI's answer into its calls, its unreadable calls, and the prose around them. Examples are no calls.

An AI that explains a command or reports what somebody wrote does not want to run it. In doubt, nothing is run: the AI
can write its call again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from doorward.agents.calls import fences, json_calls, lines, python_calls, react, special_tokens, tags
from doorward.agents.calls.parsed import CallMatch, ParsedAnswer, ParsedCall
from doorward.agents.calls.scanner import Scanner

_INTRODUCTION = re.compile(
    r"\b(?:(?:for|an|as an|another) example|for instance|examples? of|e\.g\.|such as|like this|like so|looks? like"
    r"|hypothetical(?:ly)?|placeholder|instead of|(?:do not|don't|never) (?:run|execute|use|call|write)"
    r"|(?:(?:you|one|people|users?|they|i|we) (?:could|may|might|would|should)|(?:you|one|people|users?|they) can)"
    r" (?:use|run|write|type|try|call|say|ask|send))"
    r"|\b(?:examples?|syntax|formats?|templates?|usage)(?: is| are| as follows| to use)?[\s.:]*$"
    r"|\b(?:said|says|saying|wrote|writes|typed|reads|contains|holds|printed|prints|returned|replied|answered"
    r"|quot(?:e|es|ed|ing)|(?<!you )asked)(?: [\w'’.-]+){0,3}[\s.:]*$",
    re.IGNORECASE,
)
"""Words that introduce an example or a quotation. Those after the first part count only near the end of a line."""
_LETTER = re.compile(r"[^\W\d_]")
_OPEN_QUOTES = frozenset("\"'“”‘„«‹「『")
_MAX_TAIL = 400


class PrecedingText:
    """The text before the next call, added piece by piece so that no part of an answer is scanned twice."""

    def __init__(self) -> None:
        self._tail = ""
        self._straight = 0
        self._curly = 0
        self._example = False
        self._has_new_words = False

    def add_prose(self, text: str) -> None:
        """Add text that is not a call."""
        last = text.rfind("\n\n")
        if last >= 0:
            self._straight = self._curly = 0
        self._straight += text.count('"', last + 1)
        self._curly += sum(text.count(one, last + 1) for one in "“«") - sum(text.count(one, last + 1) for one in "”»")
        self._tail = (self._tail + text[-_MAX_TAIL:])[-_MAX_TAIL:]
        self._has_new_words = self._has_new_words or _LETTER.search(text) is not None

    def add_block(self) -> None:
        """Add a complete example, such as a fenced block."""
        self._tail, self._example, self._has_new_words = "", False, False

    def add_call(self) -> None:
        """Add a call. An introduction applies to all calls that follow it without text in between."""
        self._tail, self._has_new_words = "", False

    @property
    def is_example(self) -> bool:
        """Whether the next call is introduced as an example or a quotation."""
        if self._has_new_words:
            lead = self._tail.rstrip(" \t\r\n*_`")
            self._example = lead.endswith(":") and _INTRODUCTION.search(lead.rpartition("\n")[2]) is not None
            self._has_new_words = False
        return self._example

    @property
    def introduces_example(self) -> bool:
        """Whether the current line introduces an example, so that a call on the same line is one."""
        return _INTRODUCTION.search(self._tail.rpartition("\n")[2]) is not None

    def is_quoted(self, closes: bool) -> bool:
        """Whether a quotation mark of this paragraph is open; `closes` says whether a closing one follows."""
        return self._tail[-1:] in _OPEN_QUOTES or (closes and (self._straight % 2 == 1 or self._curly > 0))


MAX_CALLS = 50
MAX_FAULTS = 10
_MAX_INLINE = 4_000
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
    rf"(?P<token>{special_tokens.OPENING})",
    rf"(?P<named>{special_tokens.NAMED_OPENING})",
    rf"(?P<remains>{special_tokens.LEFTOVER})",
)
_AT_LINE = (
    r"(?P<quotation>>[^\n]*+)",
    rf"(?P<block>{fences.OPENING})",
    rf"(?P<line>{lines.OPENING})",
    rf"(?P<action>{react.OPENING})",
    r"(?P<json>(?=[\[{]\s*+[\"'\[{]))",
)
_ANYWHERE = (
    rf"(?P<sentence>{lines.AFTER_SENTENCE})",
    rf"(?P<other_token>{special_tokens.OTHER_OPENING})",
    rf"(?P<other_named>{special_tokens.OTHER_NAMED})",
    rf"(?P<other_remains>{special_tokens.OTHER_LEFTOVER})",
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


def parse(answer: str) -> ParsedAnswer:
    """Parse a model's own answer.

    Never pass text of a person, a command or a file to this function: only AIs make calls, and everything else is
    data.
    """
    return _Parser(answer).parse()


async def parse_in_thread(answer: str) -> ParsedAnswer:
    """Parse an answer, in a thread if it is long, because its author decides what it costs to parse."""
    return parse(answer) if len(answer) <= _MAX_INLINE else await asyncio.to_thread(parse, answer)


class _Parser:
    def __init__(self, answer: str, *, nested: bool = False) -> None:
        self.page = Scanner(answer)
        self._nested = nested
        self._preceding = PrecedingText()
        self._calls: list[ParsedCall] = []
        self._faults: list[str] = []
        self._prose: list[str] = []
        self._readers: dict[str, Callable[[re.Match[str]], CallMatch | None]] = {
            "thought": self._skip_thought,
            "analysis": self._skip_analysis,
            "final": lambda opening: CallMatch(end=opening.end()),
            "comment": lambda opening: self._keep_region(opening, "-->"),
            "result": lambda opening: self._keep_region(opening, f"</{opening['told']}>"),
            "quotation": lambda opening: CallMatch(end=opening.end(), kept=True),
            "block": self._read_block,
            "line": self._read_line,
            "sentence": self._read_after_sentence,
            "code": self._keep_code,
            "action": lambda opening: react.read_action(self.page, opening),
            "tags": lambda opening: tags.read_tag(self.page, opening),
            "closing": lambda opening: CallMatch(end=opening.end()),
            "token": lambda opening: special_tokens.read_marked(self.page, opening),
            "named": lambda opening: special_tokens.read_named(self.page, opening),
            "other_token": lambda opening: special_tokens.read_marked(self.page, opening),
            "other_named": lambda opening: special_tokens.read_named(self.page, opening),
            "remains": lambda opening: CallMatch(end=opening.end()),
            "other_remains": lambda opening: CallMatch(end=opening.end()),
            "list": self._read_list,
            "json": self._read_json,
        }

    def parse(self) -> ParsedAnswer:
        page, at = self.page, self._find_start()
        while (opening := page.search(_OPENING, at)) is not None:
            self._add_prose(page.text[at : opening.start()])
            way = next(name for name in self._readers if opening[name] is not None)
            found = self._readers[way](opening)
            if found is None:
                at = max(opening.end(), opening.start() + 1)
                self._add_prose(page.text[opening.start() : at])
            else:
                at = found.end
                self._add_match(way, opening, found)
        self._add_prose(page.text[at:])
        return ParsedAnswer(
            calls=tuple(self._calls[:MAX_CALLS]),
            faults=self._list_faults(),
            prose=_collapse_lines("".join(self._prose)),
        )

    def _add_match(self, way: str, opening: re.Match[str], found: CallMatch) -> None:
        whole = self.page.text[opening.start() : found.end]
        if found.calls or found.faults:
            if self._is_example(way, found.end):
                self._prose.append(whole)
            else:
                self._prose.append(_BARE_MARK.sub("", self._prose.pop()) if self._prose else "")
                self._calls += found.calls
                self._faults += found.faults
            self._preceding.add_call()
        elif found.kept:
            self._prose.append(whole)
            if way == "block":
                self._preceding.add_block()
        elif found.says:
            self._prose.append(found.says)

    def _is_example(self, way: str, end: int) -> bool:
        if way == "sentence" and self._preceding.introduces_example:
            return True
        return self._preceding.is_example or self._preceding.is_quoted(self._quotation_closes(end))

    def _quotation_closes(self, at: int) -> bool:
        """Whether a quotation mark follows in the same paragraph."""
        page, ends = self.page, [place for mark in '"”»' if (place := self.page.find(mark, at)) >= 0]
        empty = page.find("\n\n", at)
        return bool(ends) and (empty < 0 or min(ends) < empty)

    def _add_prose(self, words: str) -> None:
        self._prose.append(words)
        self._preceding.add_prose(words)

    def _list_faults(self) -> tuple[str, ...]:
        told = self._faults[:MAX_FAULTS]
        if len(self._faults) > MAX_FAULTS:
            told.append(f"{len(self._faults) - MAX_FAULTS} more calls cannot be read.")
        if len(self._calls) > MAX_CALLS:
            more = len(self._calls) - MAX_CALLS
            told.append(
                f"Only the first {MAX_CALLS} of your calls were read; {more} more in the same answer were not made."
            )
        return tuple(told)

    def _find_start(self) -> int:
        """Return where the answer starts if it opens inside a thought whose opening tag was part of the prompt."""
        end = self.page.find("</think>", 0)
        begin = self.page.find("<think>", 0)
        return end + len("</think>") if end >= 0 and not 0 <= begin < end and not self._is_quoted(end) else 0

    def _is_quoted(self, at: int) -> bool:
        """Whether a position lies in a quotation or a fenced block."""
        before = self.page.text[:at]
        fences_before = sum(1 for _ in _FENCE.finditer(before))
        return _QUOTES.match(before, before.rfind("\n") + 1) is not None or fences_before % 2 == 1

    def _skip_thought(self, opening: re.Match[str]) -> CallMatch:
        """Skip a thought: it holds no calls and is not shown."""
        closing = f"</{opening['thinks']}>"
        end = self.page.find(closing, opening.end())
        if end < 0:
            why = f"Your answer ends inside a thought. Close it with {closing} and write your answer after it."
            return CallMatch(end=len(self.page.text), faults=(why,))
        return CallMatch(end=end + len(closing))

    def _skip_analysis(self, opening: re.Match[str]) -> CallMatch:
        end = self.page.find("<|end|>", opening.end())
        return CallMatch(end=len(self.page.text) if end < 0 else end + len("<|end|>"))

    def _keep_region(self, opening: re.Match[str], closing: str) -> CallMatch:
        """Keep text that a model shows as somebody else's, such as the result of a call."""
        end = self.page.find(closing, opening.end())
        return CallMatch(end=len(self.page.text) if end < 0 else end + len(closing), kept=True)

    def _read_block(self, opening: re.Match[str]) -> CallMatch | None:
        if self._nested:
            return None
        return fences.read_fence(self.page, opening, lambda inside: _Parser(inside, nested=True).parse())

    def _read_line(self, opening: re.Match[str]) -> CallMatch | None:
        return lines.read_line(self.page, opening)

    def _read_after_sentence(self, opening: re.Match[str]) -> CallMatch | None:
        return lines.read_after_sentence(self.page, opening)

    def _keep_code(self, opening: re.Match[str]) -> CallMatch | None:
        """Keep inline code as an example. It ends with the same number of backticks, before an empty line."""
        ticks = opening["code"]
        end = self.page.find(ticks, opening.end())
        if end < 0:
            return None
        empty = self.page.find("\n\n", opening.end())
        return None if 0 <= empty < end else CallMatch(end=end + len(ticks), kept=True)

    def _read_list(self, opening: re.Match[str]) -> CallMatch | None:
        """Read an answer that is only a list of calls in Python syntax."""
        return python_calls.read_calls(self.page, opening.start(), len(self.page.text))

    def _read_json(self, opening: re.Match[str]) -> CallMatch | None:
        """Read JSON on lines of its own, or as the whole answer."""
        at = opening.end()
        if self.page.has_unclosed_bracket:
            return None
        end = self.page.end_of_json(at)
        if end < 0:
            rest = self.page.text[at : at + 4_000]
            return json_calls.report_unclosed(rest, len(self.page.text)) if json_calls.looks_like_call(rest) else None
        if self.page.text[end : self.page.end_of_line(end)].strip():
            return None
        return json_calls.read_json(self.page.text[at:end], end, marked=False)


def _collapse_lines(prose: str) -> str:
    return _MANY_LINES.sub("\n\n", prose).strip()
