"""The parser of the session shell: commands with their words, pipes, `&& || ;`, redirects and variables.

The language is a small subset of Unix shells. Any other syntax is refused by name, so that a line never means something
else than its author intended. The parser reads the text once, from left to right, and its only error is `Fault`.
"""

from __future__ import annotations

import re
from typing import cast

from doorward.backends.session.cursor import LONGEST, Fault
from doorward.backends.session.syntax import (
    Chain,
    Joint,
    Line,
    Pipeline,
    Redirect,
    Script,
    Sign,
    Stage,
    Word,
)
from doorward.backends.session.words import Words
from doorward.command import shortened

__all__ = ["LONGEST", "MOST_PIPED", "MOST_STAGES", "Fault", "parse"]

MOST_STAGES = 1_000
MOST_PIPED = 50
_SETS = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})=")
_SIGN = re.compile(r"(?P<to>[0-9]{1,3})?(?P<sign><<<|<<|<>|<\(|<|>>|>\||>\(|>&|>)|&>>|&>")
_LOOPS = ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac")
_NOT_PART = frozenset((*_LOOPS, "function", "coproc", "{", "}", "[[", "]]", "!"))
_TARGETS = {"<": "0", "<<<": "0", ">": "12", ">>": "12", "&>": "", "&>>": ""}
"""The redirects with a file, and the stream numbers allowed in front of each."""
_VALID_SIGNS = "< file, <<< text, > file, >> file, 2> file, 2>> file, 2>&1, 1>&2, &> file and &>> file"


def parse(text: str) -> Script:
    """Parse a text into a script."""
    return _Parser(text).script()


class _Parser(Words):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._stages = 0

    def script(self, closing: str = "") -> Script:
        """Parse lines up to the end or, inside `$(…)`, up to the closing bracket, which is not consumed."""
        lines: list[Line] = []
        while True:
            self.empty_lines()
            if self._ends(closing):
                return Script(tuple(lines))
            lines.append(self._line(closing))

    def _ends(self, closing: str) -> bool:
        seen = self.seen()
        return not seen or seen == closing

    def _line(self, closing: str) -> Line:
        chains: list[Chain] = []
        while True:
            chains.append(self._chain())
            if self.takes(";"):
                self.blanks()
                if self.seen() == ";":
                    raise self.fault("a command is missing between two ; signs")
            elif self.seen() != "\n" and not self._ends(closing):
                raise self._unexpected()
            if self.seen() == "\n" or self._ends(closing):
                return Line(tuple(chains))

    def _chain(self) -> Chain:
        first = self._pipeline("")
        rest: list[tuple[Joint, Pipeline]] = []
        while (sign := self.text[self.at : self.at + 2]) in ("&&", "||"):
            self.at += 2
            self.empty_lines()
            rest.append((cast("Joint", sign), self._pipeline(sign)))
        return Chain(first, tuple(rest))

    def _pipeline(self, behind: str) -> Pipeline:
        stages = [self._stage(behind)]
        while self.stands("|") and not self.stands("||"):
            if self.stands("|&"):
                raise self.fault("|& is not supported; write 2>&1 | instead")
            self.at += 1
            self.empty_lines()
            stages.append(self._stage("|"))
            if len(stages) > MOST_PIPED:
                raise self.fault(f"a pipe has at most {MOST_PIPED} commands")
        return Pipeline(tuple(stages))

    def _stage(self, behind: str) -> Stage:
        start = self.at
        words: list[Word] = []
        sets: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        self.blanks()
        while (seen := self.seen()) not in ("", "\n", "|", ";", ")") and not self._at_and():
            place, redirect = self.at, self._redirect()
            if redirect is not None:
                redirects.append(redirect)
            elif seen == "(":
                raise self.fault("( ) is not supported; write commands one after another, or put it in quotes")
            elif not words and (name := _SETS.match(self.text, place)) is not None:
                self.at = name.end()
                sets.append((name[1], self.word()))
            else:
                words.append(self.word())
                if len(words) == 1:
                    self._is_part(words[0], place)
            self.blanks()
        if sets and (words or redirects):
            raise self.fault(
                f"variables cannot be set for one command; write {sets[0][0]}=… alone, then ; and the command", start
            )
        if not (words or sets or redirects):
            raise self._missing(behind)
        self._stages += 1
        if self._stages > MOST_STAGES:
            raise self.fault(f"a script has at most {MOST_STAGES} commands")
        return Stage(tuple(words), tuple(sets), tuple(redirects))

    def _redirect(self) -> Redirect | None:
        found = _SIGN.match(self.text, self.at)
        if found is None:
            return None
        start, sign, number = self.at, found["sign"] or found[0], found["to"] or ""
        self.at = found.end()
        if sign == ">&":
            joined = f"{number or '1'}>&{self.seen()}"
            self.at += 1
            if joined not in ("2>&1", "1>&2") or self.seen() not in ("", " ", "\t", "\r", "\n", *"|&;<>()"):
                raise self.fault("only 2>&1 and 1>&2 join streams; write &> file for both into a file", start)
            return Redirect(cast("Sign", joined), None)
        if sign not in _TARGETS or (number and number not in tuple(_TARGETS[sign])):
            raise self.fault(f"{found[0]} is not supported; valid: {_VALID_SIGNS}", start)
        self.blanks()
        if self.seen() in ("", "\n", *"|&;<>()"):
            raise self.fault(f"a {'text' if sign == '<<<' else 'file'} is missing after {found[0]}")
        return Redirect(cast("Sign", f"2{sign}" if number == "2" else sign), self.word())

    def _is_part(self, word: Word, place: int) -> None:
        name = word.bare
        if name in _NOT_PART:
            raise self.fault(
                f"{name} is not supported: this shell has no loops, conditions or functions; join commands with"
                f" | && || and ; or put it in quotes to run a command named {name}",
                place,
            )

    def _at_and(self) -> bool:
        """Whether `&&` is next; a single `&` is refused."""
        if not self.stands("&") or self.stands("&>"):
            return False
        if self.stands("&&"):
            return True
        raise self.fault("& is not supported: there are no background commands; write && or ; or put it in quotes")

    def _missing(self, behind: str) -> Fault:
        seen = self.seen()
        if behind and not seen:
            return self.fault(f"a command is missing after {behind}", unfinished=True)
        if behind:
            return self.fault(f"a command is missing between {behind} and {shortened(seen)}")
        return self._unexpected()

    def _unexpected(self) -> Fault:
        seen = next((sign for sign in ("&&", "||") if self.stands(sign)), self.seen())
        if seen == ")":
            return self.fault("there is no ( for this ); put it in quotes to use it as text")
        return self.fault(f"a command is missing before {shortened(seen)}")
