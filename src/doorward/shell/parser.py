"""The parser of the session shell: commands with their words, pipes, `&& || ;`, redirects and variables.

The language is a small subset of Unix shells. Any other syntax is refused by name, so that a line never means something
else than its author intended. The parser reads the text once, from left to right. Its only error is
`ShellSyntaxError`.
"""

from __future__ import annotations

import re
from typing import cast

from doorward.core.command import shorten
from doorward.shell.syntax import Chain, ChainOperator, Line, Pipeline, Redirect, RedirectOperator, Script, Stage, Word
from doorward.shell.word_parser import MAX_SCRIPT_CHARACTERS, ShellSyntaxError, WordParser

__all__ = ["MAX_PIPE_STAGES", "MAX_SCRIPT_CHARACTERS", "MAX_STAGES", "ShellSyntaxError", "parse_script"]

MAX_STAGES = 1_000
MAX_PIPE_STAGES = 50
_SETS = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})=")
_SIGN = re.compile(r"(?P<to>[0-9]{1,3})?(?P<sign><<<|<<|<>|<\(|<|>>|>\||>\(|>&|>)|&>>|&>")
_LOOPS = ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac")
_UNSUPPORTED = frozenset((*_LOOPS, "function", "coproc", "{", "}", "[[", "]]", "!"))
_TARGETS = {"<": "0", "<<<": "0", ">": "12", ">>": "12", "&>": "", "&>>": ""}
"""The redirects with a file, and the stream numbers allowed in front of each."""
_VALID_SIGNS = "< file, <<< text, > file, >> file, 2> file, 2>> file, 2>&1, 1>&2, &> file and &>> file"


def parse_script(text: str) -> Script:
    """Parse a text into a script."""
    return _ScriptParser(text).parse_script()


class _ScriptParser(WordParser):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._stages = 0

    def parse_script(self, closing: str = "") -> Script:
        """Parse lines up to the end or, inside `$(…)`, up to the closing bracket, which is not consumed."""
        lines: list[Line] = []
        while True:
            self.skip_empty_lines()
            if self._at_end(closing):
                return Script(tuple(lines))
            lines.append(self._parse_line(closing))

    def _at_end(self, closing: str) -> bool:
        seen = self.peek()
        return not seen or seen == closing

    def _parse_line(self, closing: str) -> Line:
        chains: list[Chain] = []
        while True:
            chains.append(self._parse_chain())
            if self.accept(";"):
                self.skip_blanks()
                if self.peek() == ";":
                    raise self.error("a command is missing between two ; signs")
            elif self.peek() != "\n" and not self._at_end(closing):
                raise self._unexpected_error()
            if self.peek() == "\n" or self._at_end(closing):
                return Line(tuple(chains))

    def _parse_chain(self) -> Chain:
        first = self._parse_pipeline("")
        rest: list[tuple[ChainOperator, Pipeline]] = []
        while (sign := self.text[self.position : self.position + 2]) in ("&&", "||"):
            self.position += 2
            self.skip_empty_lines()
            rest.append((cast("ChainOperator", sign), self._parse_pipeline(sign)))
        return Chain(first, tuple(rest))

    def _parse_pipeline(self, behind: str) -> Pipeline:
        stages = [self._parse_stage(behind)]
        while self.starts_with("|") and not self.starts_with("||"):
            if self.starts_with("|&"):
                raise self.error("|& is not supported; write 2>&1 | instead")
            self.position += 1
            self.skip_empty_lines()
            stages.append(self._parse_stage("|"))
            if len(stages) > MAX_PIPE_STAGES:
                raise self.error(f"a pipe has at most {MAX_PIPE_STAGES} commands")
        return Pipeline(tuple(stages))

    def _parse_stage(self, behind: str) -> Stage:
        start = self.position
        words: list[Word] = []
        sets: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        self.skip_blanks()
        while (seen := self.peek()) not in ("", "\n", "|", ";", ")") and not self._at_and():
            place, redirect = self.position, self._parse_redirect()
            if redirect is not None:
                redirects.append(redirect)
            elif seen == "(":
                raise self.error("( ) is not supported; write commands one after another, or put it in quotes")
            elif not words and (name := _SETS.match(self.text, place)) is not None:
                self.position = name.end()
                sets.append((name[1], self.parse_word()))
            else:
                words.append(self.parse_word())
                if len(words) == 1:
                    self._check_supported(words[0], place)
            self.skip_blanks()
        if sets and (words or redirects):
            raise self.error(
                f"variables cannot be set for one command; write {sets[0][0]}=… alone, then ; and the command", start
            )
        if not (words or sets or redirects):
            raise self._missing_command_error(behind)
        self._stages += 1
        if self._stages > MAX_STAGES:
            raise self.error(f"a script has at most {MAX_STAGES} commands")
        return Stage(tuple(words), tuple(sets), tuple(redirects))

    def _parse_redirect(self) -> Redirect | None:
        found = _SIGN.match(self.text, self.position)
        if found is None:
            return None
        start, sign, number = self.position, found["sign"] or found[0], found["to"] or ""
        self.position = found.end()
        if sign == ">&":
            joined = f"{number or '1'}>&{self.peek()}"
            self.position += 1
            if joined not in ("2>&1", "1>&2") or self.peek() not in ("", " ", "\t", "\r", "\n", *"|&;<>()"):
                raise self.error("only 2>&1 and 1>&2 join streams; write &> file for both into a file", start)
            return Redirect(cast("RedirectOperator", joined), None)
        if sign not in _TARGETS or (number and number not in tuple(_TARGETS[sign])):
            raise self.error(f"{found[0]} is not supported; valid: {_VALID_SIGNS}", start)
        self.skip_blanks()
        if self.peek() in ("", "\n", *"|&;<>()"):
            raise self.error(f"a {'text' if sign == '<<<' else 'file'} is missing after {found[0]}")
        return Redirect(cast("RedirectOperator", f"2{sign}" if number == "2" else sign), self.parse_word())

    def _check_supported(self, word: Word, place: int) -> None:
        name = word.bare
        if name in _UNSUPPORTED:
            raise self.error(
                f"{name} is not supported: this shell has no loops, conditions or functions; join commands with"
                f" | && || and ; or put it in quotes to run a command named {name}",
                place,
            )

    def _at_and(self) -> bool:
        """Whether `&&` is next; a single `&` is refused."""
        if not self.starts_with("&") or self.starts_with("&>"):
            return False
        if self.starts_with("&&"):
            return True
        raise self.error("& is not supported: there are no background commands; write && or ; or put it in quotes")

    def _missing_command_error(self, behind: str) -> ShellSyntaxError:
        seen = self.peek()
        if behind and not seen:
            return self.error(f"a command is missing after {behind}", unfinished=True)
        if behind:
            return self.error(f"a command is missing between {behind} and {shorten(seen)}")
        return self._unexpected_error()

    def _unexpected_error(self) -> ShellSyntaxError:
        seen = next((sign for sign in ("&&", "||") if self.starts_with(sign)), self.peek())
        if seen == ")":
            return self.error("there is no ( for this ); put it in quotes to use it as text")
        return self.error(f"a command is missing before {shorten(seen)}")
