"""The shell's prompt on a terminal, with completion and syntax highlighting."""

from __future__ import annotations

import posixpath
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from doorward.cli.shell_history import FileHistory
from doorward.cli.shell_lexer import LineWord, is_incomplete, parts, quote, words
from doorward.cli.shell_names import TERMINAL_COMMANDS, NameCache
from doorward.core.escape_invisible import escape_invisible

STYLE = Style.from_dict(
    {
        "command": "bold ansigreen",
        "command.begun": "bold",
        "command.unknown": "ansired",
        "option": "ansicyan",
        "string": "ansiyellow",
        "variable": "ansimagenta",
        "operator": "bold",
        "comment": "ansibrightblack",
        "question": "ansiblue",
        "auto-suggestion": "ansibrightblack",
        "status.failed": "ansired",
        "room": "ansicyan",
        "folder": "ansiblue",
    }
)


class ShellLexer(Lexer):
    def __init__(self, known: NameCache) -> None:
        self._names = known

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = _split_lines(style_line(document.text, self._names, document.cursor_position))
        return lambda number: lines[number] if number < len(lines) else []


def style_line(text: str, known: NameCache, cursor: int = -1) -> list[tuple[str, str]]:
    """Split a line into pieces, each with the name of its style."""
    if text.startswith(("@", "!")):
        return [("class:question", text)]
    names: dict[int, str] = {}
    for word in words(text):
        for part in word.parts:
            names[part.start] = part.kind if part.kind != "plain" else word.role
        if word.role == "command" and not known.is_command(word.value):
            begun = word.end == cursor and known.has_prefix(word.value)
            for part in word.parts:
                names[part.start] = "command.begun" if begun else "command.unknown"
    return [(f"class:{names.get(part.start, part.kind)}", part.text) for part in parts(text)]


def _split_lines(pieces: list[tuple[str, str]]) -> list[StyleAndTextTuples]:
    lines: list[StyleAndTextTuples] = [[]]
    for style, text in pieces:
        first, *others = text.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, other)] for other in others]
    return lines


_MAX_COMPLETIONS = 200
"""Maximum number of completions shown."""
_COLLECTION_OPTIONS = ("--collection=",)
_DATA_BUILTINS = {"select": "", "count": "", "describe": "", "insert": "=", "update": "=", "delete": ""}
"""Built-ins whose first argument is a collection, and the character that follows a field name there."""
_FIELD_OPTIONS = ("--fields=", "--orderBy=", "--groupBy=", "--filter=", "--field=")


class ShellCompleter(Completer):
    def __init__(self, known: NameCache) -> None:
        self._names = known

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return completions that need no request. The shell itself uses the asynchronous form."""
        return self._complete_command(document.text_before_cursor)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        if text.startswith(("@", "!")):
            return
        word = _word_before_cursor(text)
        if word.role == "command" and "/" not in word.value.removeprefix("./"):
            found = list(_matching_commands(self._names, word.value))
        else:
            found = await self._complete_word(word)
        if get_app().is_done:  # the line was entered meanwhile and must not change
            return
        for value, about, whole in found[:_MAX_COMPLETIONS]:
            typed = quote(value) if not value.startswith(("-", "~")) else value
            yield Completion(
                typed + (" " if whole else ""),
                start_position=word.start - len(text),
                display=escape_invisible(value, lines=False),
                display_meta=escape_invisible(about, lines=False)[:60],
            )

    def _complete_command(self, text: str) -> Iterator[Completion]:
        word = _word_before_cursor(text)
        if word.role == "command":
            for value, about, _ in _matching_commands(self._names, word.value):
                yield Completion(f"{value} ", start_position=word.start - len(text), display_meta=about)

    async def _complete_word(self, word: LineWord) -> list[tuple[str, str, bool]]:
        if word.role == "option" or word.value.startswith("-"):
            found = await self._complete_option(word)
            if found or "=" not in word.value:
                return found
        if word.role == "command" and (named := list(_matching_commands(self._names, word.value))):
            return named
        if word.role == "argument" and not word.before:
            length = len(word.command) + 1
            named = [(one.word[length:], one.summary, True) for one in self._names.subcommands(word.command)]
            if found := [one for one in named if one[0].startswith(word.value)]:
                return found
        if word.role == "argument" and (ending := _DATA_BUILTINS.get(word.command)) is not None:
            return await self._complete_data(word, ending)
        return await self._complete_path(word.value)

    async def _complete_data(self, word: LineWord, ending: str) -> list[tuple[str, str, bool]]:
        """Complete the arguments of a data built-in: first a collection, then its fields."""
        collections = await self._names.collections()
        named = next((one for one in word.before if one in collections), "")
        if not named:
            return [(one, "collection", True) for one in collections if one.startswith(word.value)]
        fields = [f"{one}{ending}" for one in await self._names.fields(named)]
        return [(one, "field", not ending) for one in fields if one.startswith(word.value)]

    async def _complete_option(self, word: LineWord) -> list[tuple[str, str, bool]]:
        """Complete an option of the command, or its value."""
        declared = self._names.find(word.command, word.before)
        options = declared.options if declared is not None else []
        key, equals, begun = word.value.partition("=")
        if equals:
            spelling = f"{key}="
            values = next((one.choices for one in options if one.spelling == spelling), [])
            if spelling in _COLLECTION_OPTIONS:
                values = list(await self._names.collections())
            elif spelling in _FIELD_OPTIONS:
                values = list(await self._list_fields(word))
            return [(f"{spelling}{value}", "", True) for value in values if value.startswith(begun)]
        return [
            (one.spelling, one.help, not one.spelling.endswith("="))
            for one in options
            if one.spelling.startswith(word.value)
        ]

    async def _list_fields(self, word: LineWord) -> Iterable[str]:
        given = (one.partition("=")[2] for one in word.before if one.startswith(_COLLECTION_OPTIONS))
        collection = next(given, "")
        return await self._names.fields(collection) if collection else ()

    async def _complete_path(self, begun: str) -> list[tuple[str, str, bool]]:
        folder, name = posixpath.split(begun)
        if begun == "~":
            return [("~/", "your folder", False)]
        shown = []
        for entry, is_folder in await self._names.list_folder(folder):
            if entry.startswith(name) and (name.startswith(".") or not entry.startswith(".")):
                path = posixpath.join(folder, entry)
                shown.append((f"{path}/" if is_folder else path, "folder" if is_folder else "", not is_folder))
        return shown


def _matching_commands(known: NameCache, begun: str) -> Iterator[tuple[str, str, bool]]:
    """Yield matching command words. Short ones come first, because they are typed more often."""
    ours = {word: about for word, about in TERMINAL_COMMANDS.items() if word.startswith(begun)}
    theirs = {one.word: one.summary for one in known.words.values() if one.word.startswith(begun)}
    for word, about in sorted({**ours, **theirs}.items(), key=lambda one: ("/" in one[0], one[0])):
        if word != "@":
            yield word, about, True


def _word_before_cursor(text: str) -> LineWord:
    """Return the word before the cursor, which may be empty."""
    marked = words(f"{text}\x00")
    last = marked[-1] if marked and marked[-1].value.endswith("\x00") else None
    if last is None:  # in a comment
        return LineWord("target", words("x")[0].parts, "")
    *before, part = last.parts
    shorter = part._replace(text=part.text.removesuffix("\x00"))
    return last._replace(parts=(*before, shorter))


_MAX_FOLDER_COLUMNS = 40
"""Maximum columns of the folder in the prompt; a longer one loses its start."""


class LineAbandoned(Exception):
    """Ctrl-C at the prompt. A plain exception, because a KeyboardInterrupt would end the program."""


class EndOfInput(Exception):
    """Ctrl-D at the prompt."""


class ShellPrompt:
    def __init__(
        self, room: str, known: NameCache, history: Path, *, given: Input | None = None, drawn: Output | None = None
    ) -> None:
        self.status = 0
        """Exit code of the last line."""
        self.history = FileHistory(history)
        self.room = room
        self._names = known
        self._input, self._output = given, drawn
        self._session: PromptSession[str] = PromptSession(
            self.message,
            completer=ShellCompleter(known),
            complete_while_typing=False,
            lexer=ShellLexer(known),
            style=STYLE,
            auto_suggest=AutoSuggestFromHistory(),
            history=self.history,
            multiline=Condition(lambda: _is_incomplete(get_app().current_buffer.text)),
            prompt_continuation="> ",
            key_bindings=_key_bindings(),
            interrupt_exception=LineAbandoned,
            eof_exception=EndOfInput,
            input=given,
            output=drawn,
        )

    @property
    def buffer(self) -> Buffer:
        """The buffer of the line being typed."""
        return self._session.default_buffer

    async def read_line(self, begun: str = "") -> str:
        """Prompt for a line. Raises `EndOfInput` on Ctrl-D and `LineAbandoned` on Ctrl-C."""
        return await self._session.prompt_async(default=begun)

    async def answer(self, question: str) -> str:
        """Ask a question; returns an empty string on Ctrl-C or Ctrl-D."""
        asked: PromptSession[str] = PromptSession(
            input=self._input, output=self._output, interrupt_exception=LineAbandoned, eof_exception=EndOfInput
        )
        try:
            return await asked.prompt_async(question)
        except (LineAbandoned, EndOfInput):
            return ""

    def earlier(self) -> list[str]:
        """Return the lines entered so far, oldest first."""
        return list(self.history.get_strings())

    def remember(self, line: str) -> None:
        self.history.append_string(line)

    def message(self) -> StyleAndTextTuples:
        shown: StyleAndTextTuples = []
        if self.room:
            shown += [("class:room", escape_invisible(self.room, lines=False)), ("", " ")]
        shown.append(("class:folder", format_folder(self._names.cwd)))
        if self.status:
            shown.append(("class:status.failed", f" [{self.status}]"))
        return [*shown, ("", "> ")]


def format_folder(cwd: str) -> str:
    """Format the folder for the prompt."""
    shown = escape_invisible(cwd, lines=False)
    return shown if len(shown) <= _MAX_FOLDER_COLUMNS else f"…{shown[-_MAX_FOLDER_COLUMNS + 1 :]}"


def _is_incomplete(text: str) -> bool:
    """Whether the line is incomplete. A question never is: its quotes are those of a sentence."""
    return not text.startswith(("@", "!")) and is_incomplete(text)


def _key_bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        """Ignore Ctrl-Z at the prompt: there is no foreground job."""

    return keys
