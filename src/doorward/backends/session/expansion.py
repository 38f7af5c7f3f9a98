"""Expansion of variables, `$(…)`, `~` and file name patterns.

The value of a variable or of `$(…)` is text. Unquoted, it is split into words at blanks, but it is never read as a
pattern, as code or as an operator.
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
"""Maximum patterns in one script: each takes at least one call."""

Printed = Callable[[Script], Awaitable[str]]
"""Runs the script in `$(…)` and returns its output."""


class Budget(msgspec.Struct):
    """The remaining limits for the expansions of one script, including its `$(…)`."""

    characters: int = MOST_CHARACTERS
    patterns: int = MOST_PATTERNS


class Expansion:
    """The expansions of one script."""

    def __init__(self, ctx: Context, session: Session, printed: Printed, budget: Budget) -> None:
        self._ctx = ctx
        self._session = session
        self._printed = printed
        self._budget = budget

    async def words(self, words: Iterable[Word]) -> list[str]:
        """Expand the words of a stage."""
        found: list[str] = []
        for word in words:
            for segments in await self._fields(word):
                found += await self._named(segments)
            if len(found) > MOST_WORDS:
                raise StageFault(f"the line expands to more than {MOST_WORDS} words", 1)
        return found

    async def one(self, word: Word, what: str) -> str:
        """Expand a word that must become exactly one word, such as a file name."""
        found = await self.words([word])
        if len(found) != 1:
            raise StageFault(f"{what} must be one word, but expands to {len(found)}; put it in quotes", 1)
        return found[0]

    async def text(self, word: Word) -> str:
        """Expand a word as text, without splitting it and without patterns."""
        pieces = []
        for place, part in enumerate(word.parts):
            if isinstance(part, Text):
                pieces += [text for text, _ in self._plain(part, place, len(word.parts))]
            else:
                pieces.append(await self._value(part))
        return "".join(pieces)

    async def _fields(self, word: Word) -> list[list[Segment]]:
        """The words that one word expands to, each as segments that may or may not be patterns."""
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
                        f"the value of {name} is lost: secret variables are not kept across restarts; set it again", 1
                    )
                if value is None:
                    raise StageFault(f"the variable {name} is not set; ${{{name}:-}} gives an empty text instead", 1)
                return self._counted(value)
            case Text(text=text):
                return text

    async def _named(self, segments: Sequence[Segment]) -> list[str]:
        text = "".join(one for one, _ in segments)
        if not is_pattern(segments):
            return [text]
        self._budget.patterns -= 1
        if self._budget.patterns < 0:
            raise StageFault(f"a script has at most {MOST_PATTERNS} file name patterns", 1)
        found = await fitting(hushed(self._ctx, self._session), self._session.cwd, segments)
        return [self._counted(one) for one in found] or [text]

    def _counted(self, text: str) -> str:
        self._budget.characters -= len(text)
        if self._budget.characters < 0:
            raise StageFault(f"variables, $( ) and patterns expand to more than {MOST_CHARACTERS} characters", 1)
        return text


def _pieces(value: str) -> list[str]:
    """Split a text at blanks; an empty first or last piece marks a blank there."""
    pieces = value.split()
    if value[:1].isspace():
        pieces.insert(0, "")
    if pieces and value[-1:].isspace():
        pieces.append("")
    return pieces
