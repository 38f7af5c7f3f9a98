"""Fills in what stands for something else: variables, `$(…)`, `~` and patterns of file names.

What comes out of a variable or of `$(…)` is text: where it is not quoted it becomes several words at its blanks, but it
is never a pattern, never code, and never an operator.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from doorward.backends.context import Context
from doorward.backends.session.called import StageFault
from doorward.backends.session.globs import Segment, fitting, is_pattern
from doorward.backends.session.secret_values import hushed
from doorward.backends.session.session import Session
from doorward.backends.session.syntax import Output, Part, Script, Text, Variable, Word

MOST_CHARACTERS = 1_000_000
MOST_WORDS = 10_000
MOST_PATTERNS = 200
"""How many patterns of names one text holds: each is compared by a call of its own, or several."""

Printed = Callable[[Script], Awaitable[str]]
"""Runs what stands in `$(…)` and gives what it prints."""


class Budget(msgspec.Struct):
    """How much the expansions of one text may still come to, over all of it and what stands in its `$(…)`."""

    characters: int = MOST_CHARACTERS
    patterns: int = MOST_PATTERNS


class Expansion:
    """The expansions of one text."""

    def __init__(self, ctx: Context, session: Session, printed: Printed, budget: Budget) -> None:
        self._ctx = ctx
        self._session = session
        self._printed = printed
        self._budget = budget

    async def words(self, words: Iterable[Word]) -> list[str]:
        """The words that a stage is called with."""
        found: list[str] = []
        for word in words:
            for segments in await self._fields(word):
                found += await self._named(segments)
            if len(found) > MOST_WORDS:
                raise StageFault(f"the line comes to more than {MOST_WORDS} words", 1)
        return found

    async def one(self, word: Word, what: str) -> str:
        """A word that has to come to exactly one, such as the name of a file."""
        found = await self.words([word])
        if len(found) != 1:
            raise StageFault(f"{what} must be one word, and comes to {len(found)}; put it in quotes", 1)
        return found[0]

    async def text(self, word: Word) -> str:
        """A word as text: not broken at blanks, and no pattern."""
        pieces = []
        for place, part in enumerate(word.parts):
            if isinstance(part, Text):
                pieces += [text for text, _ in self._plain(part, place, len(word.parts))]
            else:
                pieces.append(await self._value(part))
        return "".join(pieces)

    async def _fields(self, word: Word) -> list[list[Segment]]:
        """The words that one word comes to, each in pieces that are or are not a pattern."""
        fields: list[list[Segment]] = []
        current: list[Segment] = []
        for place, part in enumerate(word.parts):
            if isinstance(part, Text):
                current += self._plain(part, place, len(word.parts))
                continue
            value = await self._value(part)
            if part.quoted:
                current.append((value, False))
                continue
            for number, piece in enumerate(_pieces(value)):
                if number and current:
                    fields.append(current)
                    current = []
                if piece:
                    current.append((piece, False))
        return [*fields, current] if current else fields

    def _plain(self, part: Text, place: int, parts: int) -> list[Segment]:
        text = part.text
        is_home = text.startswith("~/") or (text == "~" and parts == 1)
        if not part.quoted and place == 0 and is_home:
            return [(self._counted(self._session.home), False), (text[1:], True)]
        return [(text, not part.quoted)]

    async def _value(self, part: Part) -> str:
        match part:
            case Output(script=script):
                return self._counted((await self._printed(script)).rstrip("\n"))
            case Variable(name="?"):
                return str(self._session.status)
            case Variable(name=name, otherwise=otherwise):
                value = self._session.variable(name)
                if not value and otherwise is not None:
                    return await self.text(otherwise)
                if value is None and name in self._session.lost:
                    raise StageFault(
                        f"what {name} was is gone: what is named like a secret is nowhere stored; set it again", 1
                    )
                if value is None:
                    raise StageFault(f"there is no variable {name}; ${{{name}:-}} is nothing where it is not set", 1)
                return self._counted(value)
            case Text(text=text):
                return text

    async def _named(self, segments: Sequence[Segment]) -> list[str]:
        text = "".join(one for one, _ in segments)
        if not is_pattern(segments):
            return [text]
        self._budget.patterns -= 1
        if self._budget.patterns < 0:
            raise StageFault(f"one text holds at most {MOST_PATTERNS} patterns of names", 1)
        found = await fitting(hushed(self._ctx, self._session), self._session.cwd, segments)
        return [self._counted(one) for one in found] or [text]

    def _counted(self, text: str) -> str:
        self._budget.characters -= len(text)
        if self._budget.characters < 0:
            raise StageFault(f"variables, $( ) and patterns come to more than {MOST_CHARACTERS} characters", 1)
        return text


def _pieces(value: str) -> list[str]:
    """A text at its blanks; an empty piece first or last says that a blank stood there."""
    pieces = value.split()
    if value[:1].isspace():
        pieces.insert(0, "")
    if pieces and value[-1:].isspace():
        pieces.append("")
    return pieces
