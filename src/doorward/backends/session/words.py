"""The part of the parser that reads words: plain text, quotes, backslashes, variables and `$(…)`."""

from __future__ import annotations

import re

from doorward import strictjson
from doorward.backends.session.cursor import Cursor
from doorward.backends.session.syntax import Output, Part, Script, Text, Variable, Word
from doorward.calltext import end_of_json

DEEPEST = 10
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


class Words(Cursor):
    """Parses words. The subclass parses the script in `$(…)`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._tries = 0

    def script(self, closing: str = "") -> Script:
        raise NotImplementedError

    def word(self) -> Word:
        """Parse one word; it is empty when there is none."""
        start, parts = self.at, _Parts()
        while (seen := self.seen()) and seen not in " \t\n|&;<>()" and not self.at_line_end():
            if (continued := _CONTINUED.match(self.text, self.at)) is not None:
                self.at = continued.end()
            elif not (seen in "{[" and self._json(parts, start)):
                self._part(parts, "")
        word = parts.word()
        if any("," in found or ".." in found for found in _BRACES.findall(parts.unquoted)):
            raise self.fault("brace expansion is not supported; write each word separately, or put it in quotes", start)
        return word

    def _part(self, parts: _Parts, closing: str) -> None:
        seen = self.seen()
        if seen == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise self.open("'")
            parts.add(self.text[self.at + 1 : end], quoted=True)
            self.at = end + 1
        elif seen == '"':
            self._double(parts)
        elif seen == "\\":
            if self.at + 1 >= len(self.text):
                raise self.fault("a character is missing after the last backslash", unfinished=True)
            parts.add(self.text[self.at + 1], quoted=True)
            self.at += 2
        elif seen == "$":
            self._dollar(parts, quoted=False)
        elif seen == "`":
            raise self._backquote()
        elif seen == "\r":
            parts.add(seen, quoted=True)
            self.at += 1
        else:
            found = _PLAIN.match(self.text, self.at)
            text = found[0] if found is not None else seen
            if closing and closing in text:
                text = text[: text.index(closing)]
            parts.add(text, quoted=False)
            self.at += len(text)

    def _json(self, parts: _Parts, start: int) -> bool:
        """Parse a JSON object or list directly after `--key=`; quotes in it belong to JSON and not to the shell."""
        if self._tries > _MOST_TRIES or self.at - start > 110:
            return False
        if _OPTION.fullmatch(self.text, start, self.at) is None:
            return False
        text = self.text[self.at : self.at + _LONGEST_JSON]
        end = end_of_json(text, 0)
        if end > 0:
            try:
                strictjson.loads(text[:end])
            except strictjson.NotJson:
                end = -1
        if end < 0:
            self._tries += 1
            return False
        parts.add(text[:end], quoted=True)
        self.at += end
        return True

    def _double(self, parts: _Parts) -> None:
        start = self.at
        self.at += 1
        if self.seen() == '"':
            parts.add("", quoted=True)
        while (seen := self.seen()) != '"':
            if not seen:
                raise self.open('"', start)
            if seen == "\\":
                behind = self.text[self.at + 1 : self.at + 2]
                if not behind:
                    raise self.open('"', start)
                if behind != "\n":
                    parts.add(behind if behind in '"\\$`' else f"\\{behind}", quoted=True)
                self.at += 2
            elif seen == "$":
                self._dollar(parts, quoted=True)
            elif seen == "`":
                raise self._backquote()
            else:
                found = _IN_DOUBLE.match(self.text, self.at)
                text = found[0] if found else seen
                parts.add(text, quoted=True)
                self.at += len(text)
        self.at += 1

    def _dollar(self, parts: _Parts, *, quoted: bool) -> None:
        """Parse an expansion that begins with `$`."""
        start = self.at
        self.at += 1
        seen = self.seen()
        name = _NAME.match(self.text, self.at)
        if name is not None:
            self.at = name.end()
            parts.put(Variable(name[0], None, quoted))
        elif seen == "?":
            self.at += 1
            parts.put(Variable("?", None, quoted))
        elif seen == "{":
            self.at += 1
            parts.put(self._braced(start, quoted))
        elif seen == "(":
            self.at += 1
            parts.put(self._output(start, quoted))
        elif seen and (seen in "0123456789@*#$!-" or (seen in "'\"" and not quoted)):
            raise self.fault(
                f"${seen} is not supported; valid: {_VALID_VARIABLES}; put a plain $ in single quotes",
                start,
            )
        else:
            parts.add("$", quoted=True)

    def _braced(self, start: int, quoted: bool) -> Variable:
        found = _NAME.match(self.text, self.at)
        name = found[0] if found else "?" if self.seen() == "?" else ""
        self.at += len(name)
        otherwise = None
        if name and self.takes(":-"):
            self._deeper(start)
            otherwise = self._default(quoted)
            self._depth -= 1
        if not self.seen():
            raise self.open("${", start)
        if not name or not self.takes("}"):
            raise self.fault(f"this is not a valid variable; valid: {_VALID_VARIABLES}", start)
        return Variable(name, otherwise, quoted)

    def _default(self, quoted: bool) -> Word:
        """Parse the default value after `:-`, up to the brace; blanks are part of it."""
        parts = _Parts()
        while (seen := self.seen()) and seen != "}" and not (seen == '"' and quoted):
            if seen in " \t\n\r|&;<>(){":
                parts.add(seen, quoted=True)
                self.at += 1
            else:
                self._part(parts, "}")
        return parts.word()

    def _output(self, start: int, quoted: bool) -> Output:
        if self.seen() == "(":
            raise self.fault("$(( )) is not supported: the shell has no arithmetic", start)
        self._deeper(start)
        script = self.script(")")
        self._depth -= 1
        if not self.takes(")"):
            raise self.open("$(", start)
        return Output(script, quoted)

    def _deeper(self, start: int) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.fault(f"$( ) and ${{ }} can be nested at most {DEEPEST} levels deep", start)

    def _backquote(self) -> Exception:
        return self.fault("backquotes are not supported; write $(command), or put it in single quotes")


class _Parts:
    """Collects the parts of a word; adjacent texts with the same quoting become one."""

    def __init__(self) -> None:
        self._found: list[Part] = []
        self._pieces: list[str] = []
        self._quoted = False
        self.unquoted = ""

    def add(self, text: str, *, quoted: bool) -> None:
        if self._pieces and self._quoted != quoted:
            self._close()
        self._quoted = quoted
        self._pieces.append(text)

    def put(self, part: Part) -> None:
        self._close()
        self._found.append(part)

    def word(self) -> Word:
        self._close()
        self.unquoted = " ".join(one.text for one in self._found if isinstance(one, Text) and not one.quoted)
        return Word(tuple(self._found))

    def _close(self) -> None:
        if self._pieces:
            self._found.append(Text("".join(self._pieces), self._quoted))
            self._pieces = []
