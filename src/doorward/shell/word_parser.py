"""The part of the parser that reads words: plain text, quotes, backslashes, variables and `$(…)`."""

from __future__ import annotations

import re

from doorward.core import strictjson
from doorward.core.argtext import find_json_end
from doorward.shell.syntax import CommandSubstitution, Part, Script, Text, Variable, Word

MAX_SCRIPT_CHARACTERS = 65_536
_BLANKS = re.compile(r"(?:[ \t]|\r(?=\n|\Z)|\\\r?\n)+")
_LINE_END = re.compile(r"\r?\n|\r?\Z")
_ENDINGS = {"'": "'", '"': '"', "${": "}", "$(": ")"}


class ShellSyntaxError(Exception):
    """A syntax error: the message says what is wrong, what is valid, and where."""

    def __init__(self, message: str, line: int, column: int, *, unfinished: bool = False) -> None:
        self.message = f"Line {line}, column {column}: {message}"
        super().__init__(self.message)
        self.line = line
        self.column = column
        self.is_incomplete = unfinished
        """Whether more input could complete it: an open quote or `$(`, or a final `|`, `&&`, `||` or `\\`."""


class TextCursor:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        if len(text) > MAX_SCRIPT_CHARACTERS:
            raise self.error(f"a script has at most {MAX_SCRIPT_CHARACTERS} characters; given {len(text)}")
        if "\0" in text:
            raise self.error("NUL bytes are not allowed in a script", text.index("\0"))

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def starts_with(self, sign: str) -> bool:
        return self.text.startswith(sign, self.position)

    def accept(self, sign: str) -> bool:
        if not self.starts_with(sign):
            return False
        self.position += len(sign)
        return True

    def at_line_end(self) -> bool:
        return _LINE_END.match(self.text, self.position) is not None

    def skip_blanks(self) -> None:
        """Skip blanks, line continuations and a comment."""
        found = _BLANKS.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        if self.peek() == "#":
            end = self.text.find("\n", self.position)
            self.position = end if end >= 0 else len(self.text)

    def skip_empty_lines(self) -> None:
        self.skip_blanks()
        while self.accept("\n"):
            self.skip_blanks()

    def unclosed_error(self, what: str, start: int | None = None) -> ShellSyntaxError:
        return self.error(
            f"{what} is opened here and never closed; close it with {_ENDINGS[what]}", start, unfinished=True
        )

    def error(self, message: str, at: int | None = None, *, unfinished: bool = False) -> ShellSyntaxError:
        place = self.position if at is None else at
        line = self.text.count("\n", 0, place) + 1
        column = place - (self.text.rfind("\n", 0, place) + 1) + 1
        return ShellSyntaxError(f"{message}.", line, column, unfinished=unfinished)


MAX_DEPTH = 10
_LONGEST_JSON = 16_384
_MOST_TRIES = 50
"""Maximum failed attempts to read JSON after `--key=`, because each may scan the whole text."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION = re.compile(r"--[A-Za-z][A-Za-z0-9_-]{0,100}=")
_PLAIN = re.compile(r"[^\s'\"\\$`|&;<>()=]*+=|[^\s'\"\\$`|&;<>()=]++|[^\S \t\r\n]++")
"""A piece of plain text; it ends after each `=`, because JSON may begin there."""
_CONTINUED = re.compile(r"\\\r?\n")
_BRACES = re.compile(r"\{([^{}\s]*+)\}")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_VALID_VARIABLES = "$NAME, ${NAME}, ${NAME:-text}, $? and $(command)"


class WordParser(TextCursor):
    """Parses words. The subclass parses the script in `$(…)`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._tries = 0

    def parse_script(self, closing: str = "") -> Script:
        raise NotImplementedError

    def parse_word(self) -> Word:
        """Parse one word; it is empty when there is none."""
        start, parts = self.position, _WordBuilder()
        while (seen := self.peek()) and seen not in " \t\n|&;<>()" and not self.at_line_end():
            if (continued := _CONTINUED.match(self.text, self.position)) is not None:
                self.position = continued.end()
            elif not (seen in "{[" and self._parse_json(parts, start)):
                self._parse_part(parts, "")
        word = parts.build()
        if any("," in found or ".." in found for found in _BRACES.findall(parts.unquoted)):
            raise self.error("brace expansion is not supported; write each word separately, or put it in quotes", start)
        return word

    def _parse_part(self, parts: _WordBuilder, closing: str) -> None:
        seen = self.peek()
        if seen == "'":
            end = self.text.find("'", self.position + 1)
            if end < 0:
                raise self.unclosed_error("'")
            parts.add_text(self.text[self.position + 1 : end], quoted=True)
            self.position = end + 1
        elif seen == '"':
            self._parse_double_quotes(parts)
        elif seen == "\\":
            if self.position + 1 >= len(self.text):
                raise self.error("a character is missing after the last backslash", unfinished=True)
            parts.add_text(self.text[self.position + 1], quoted=True)
            self.position += 2
        elif seen == "$":
            self._parse_dollar(parts, quoted=False)
        elif seen == "`":
            raise self._backquote_error()
        elif seen == "\r":
            parts.add_text(seen, quoted=True)
            self.position += 1
        else:
            found = _PLAIN.match(self.text, self.position)
            text = found[0] if found is not None else seen
            if closing and closing in text:
                text = text[: text.index(closing)]
            parts.add_text(text, quoted=False)
            self.position += len(text)

    def _parse_json(self, parts: _WordBuilder, start: int) -> bool:
        """Parse a JSON object or list directly after `--key=`; quotes in it belong to JSON and not to the shell."""
        if self._tries > _MOST_TRIES or self.position - start > 110:
            return False
        if _OPTION.fullmatch(self.text, start, self.position) is None:
            return False
        text = self.text[self.position : self.position + _LONGEST_JSON]
        end = find_json_end(text, 0)
        if end > 0:
            try:
                strictjson.loads(text[:end])
            except strictjson.NotJson:
                end = -1
        if end < 0:
            self._tries += 1
            return False
        parts.add_text(text[:end], quoted=True)
        self.position += end
        return True

    def _parse_double_quotes(self, parts: _WordBuilder) -> None:
        start = self.position
        self.position += 1
        if self.peek() == '"':
            parts.add_text("", quoted=True)
        while (seen := self.peek()) != '"':
            if not seen:
                raise self.unclosed_error('"', start)
            if seen == "\\":
                behind = self.text[self.position + 1 : self.position + 2]
                if not behind:
                    raise self.unclosed_error('"', start)
                if behind != "\n":
                    parts.add_text(behind if behind in '"\\$`' else f"\\{behind}", quoted=True)
                self.position += 2
            elif seen == "$":
                self._parse_dollar(parts, quoted=True)
            elif seen == "`":
                raise self._backquote_error()
            else:
                found = _IN_DOUBLE.match(self.text, self.position)
                text = found[0] if found else seen
                parts.add_text(text, quoted=True)
                self.position += len(text)
        self.position += 1

    def _parse_dollar(self, parts: _WordBuilder, *, quoted: bool) -> None:
        """Parse an expansion that begins with `$`."""
        start = self.position
        self.position += 1
        seen = self.peek()
        name = _NAME.match(self.text, self.position)
        if name is not None:
            self.position = name.end()
            parts.add_part(Variable(name[0], None, quoted))
        elif seen == "?":
            self.position += 1
            parts.add_part(Variable("?", None, quoted))
        elif seen == "{":
            self.position += 1
            parts.add_part(self._parse_braced(start, quoted))
        elif seen == "(":
            self.position += 1
            parts.add_part(self._parse_substitution(start, quoted))
        elif seen and (seen in "0123456789@*#$!-" or (seen in "'\"" and not quoted)):
            raise self.error(
                f"${seen} is not supported; valid: {_VALID_VARIABLES}; put a plain $ in single quotes",
                start,
            )
        else:
            parts.add_text("$", quoted=True)

    def _parse_braced(self, start: int, quoted: bool) -> Variable:
        found = _NAME.match(self.text, self.position)
        name = found[0] if found else "?" if self.peek() == "?" else ""
        self.position += len(name)
        otherwise = None
        if name and self.accept(":-"):
            self._enter(start)
            otherwise = self._parse_default(quoted)
            self._depth -= 1
        if not self.peek():
            raise self.unclosed_error("${", start)
        if not name or not self.accept("}"):
            raise self.error(f"this is not a valid variable; valid: {_VALID_VARIABLES}", start)
        return Variable(name, otherwise, quoted)

    def _parse_default(self, quoted: bool) -> Word:
        """Parse the default value after `:-`, up to the brace; blanks are part of it."""
        parts = _WordBuilder()
        while (seen := self.peek()) and seen != "}" and not (seen == '"' and quoted):
            if seen in " \t\n\r|&;<>(){":
                parts.add_text(seen, quoted=True)
                self.position += 1
            else:
                self._parse_part(parts, "}")
        return parts.build()

    def _parse_substitution(self, start: int, quoted: bool) -> CommandSubstitution:
        if self.peek() == "(":
            raise self.error("$(( )) is not supported: the shell has no arithmetic", start)
        self._enter(start)
        script = self.parse_script(")")
        self._depth -= 1
        if not self.accept(")"):
            raise self.unclosed_error("$(", start)
        return CommandSubstitution(script, quoted)

    def _enter(self, start: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"$( ) and ${{ }} can be nested at most {MAX_DEPTH} levels deep", start)

    def _backquote_error(self) -> Exception:
        return self.error("backquotes are not supported; write $(command), or put it in single quotes")


class _WordBuilder:
    """Collects the parts of a word; adjacent texts with the same quoting become one."""

    def __init__(self) -> None:
        self._found: list[Part] = []
        self._pieces: list[str] = []
        self._quoted = False
        self.unquoted = ""

    def add_text(self, text: str, *, quoted: bool) -> None:
        if self._pieces and self._quoted != quoted:
            self._close()
        self._quoted = quoted
        self._pieces.append(text)

    def add_part(self, part: Part) -> None:
        self._close()
        self._found.append(part)

    def build(self) -> Word:
        self._close()
        self.unquoted = " ".join(one.text for one in self._found if isinstance(one, Text) and not one.quoted)
        return Word(tuple(self._found))

    def _close(self) -> None:
        if self._pieces:
            self._found.append(Text("".join(self._pieces), self._quoted))
            self._pieces = []
