"""Tab completion in the shell: commands, options, paths, collections and fields."""

from __future__ import annotations

import posixpath
from collections.abc import AsyncGenerator, Iterable, Iterator

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from doorward.cli.shell_known import OURS, Known
from doorward.cli.shell_words import Word, quoted, words
from doorward.visible import visible

_MOST = 200
"""Maximum number of completions shown."""
_OF_COLLECTIONS = ("--collection=",)
_OVER_DATA = {"select": "", "count": "", "describe": "", "insert": "=", "update": "=", "delete": ""}
"""Built-ins whose first argument is a collection, and the character that follows a field name there."""
_OF_FIELDS = ("--fields=", "--orderBy=", "--groupBy=", "--filter=", "--field=")


class Completing(Completer):
    def __init__(self, known: Known) -> None:
        self._known = known

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return completions that need no request. The shell itself uses the asynchronous form."""
        return self._commands(document.text_before_cursor)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        if text.startswith(("@", "!")):
            return
        word = _at_the_end(text)
        if word.role == "command" and "/" not in word.value.removeprefix("./"):
            found = list(_known_words(self._known, word.value))
        else:
            found = await self._behind(word)
        if get_app().is_done:  # the line was entered meanwhile and must not change
            return
        for value, about, whole in found[:_MOST]:
            typed = quoted(value) if not value.startswith(("-", "~")) else value
            yield Completion(
                typed + (" " if whole else ""),
                start_position=word.start - len(text),
                display=visible(value, lines=False),
                display_meta=visible(about, lines=False)[:60],
            )

    def _commands(self, text: str) -> Iterator[Completion]:
        word = _at_the_end(text)
        if word.role == "command":
            for value, about, _ in _known_words(self._known, word.value):
                yield Completion(f"{value} ", start_position=word.start - len(text), display_meta=about)

    async def _behind(self, word: Word) -> list[tuple[str, str, bool]]:
        if word.role == "option" or word.value.startswith("-"):
            found = await self._option(word)
            if found or "=" not in word.value:
                return found
        if word.role == "command" and (named := list(_known_words(self._known, word.value))):
            return named
        if word.role == "argument" and not word.before:
            length = len(word.command) + 1
            named = [(one.word[length:], one.summary, True) for one in self._known.parts_of(word.command)]
            if found := [one for one in named if one[0].startswith(word.value)]:
                return found
        if word.role == "argument" and (ending := _OVER_DATA.get(word.command)) is not None:
            return await self._of_data(word, ending)
        return await self._paths(word.value)

    async def _of_data(self, word: Word, ending: str) -> list[tuple[str, str, bool]]:
        """Complete the arguments of a data built-in: first a collection, then its fields."""
        collections = await self._known.collections()
        named = next((one for one in word.before if one in collections), "")
        if not named:
            return [(one, "collection", True) for one in collections if one.startswith(word.value)]
        fields = [f"{one}{ending}" for one in await self._known.fields(named)]
        return [(one, "field", not ending) for one in fields if one.startswith(word.value)]

    async def _option(self, word: Word) -> list[tuple[str, str, bool]]:
        """Complete an option of the command, or its value."""
        declared = self._known.find(word.command, word.before)
        options = declared.options if declared is not None else []
        key, equals, begun = word.value.partition("=")
        if equals:
            spelling = f"{key}="
            values = next((one.choices for one in options if one.spelling == spelling), [])
            if spelling in _OF_COLLECTIONS:
                values = list(await self._known.collections())
            elif spelling in _OF_FIELDS:
                values = list(await self._fields(word))
            return [(f"{spelling}{value}", "", True) for value in values if value.startswith(begun)]
        return [
            (one.spelling, one.help, not one.spelling.endswith("="))
            for one in options
            if one.spelling.startswith(word.value)
        ]

    async def _fields(self, word: Word) -> Iterable[str]:
        given = (one.partition("=")[2] for one in word.before if one.startswith(_OF_COLLECTIONS))
        collection = next(given, "")
        return await self._known.fields(collection) if collection else ()

    async def _paths(self, begun: str) -> list[tuple[str, str, bool]]:
        folder, name = posixpath.split(begun)
        if begun == "~":
            return [("~/", "your folder", False)]
        shown = []
        for entry, is_folder in await self._known.folder(folder):
            if entry.startswith(name) and (name.startswith(".") or not entry.startswith(".")):
                path = posixpath.join(folder, entry)
                shown.append((f"{path}/" if is_folder else path, "folder" if is_folder else "", not is_folder))
        return shown


def _known_words(known: Known, begun: str) -> Iterator[tuple[str, str, bool]]:
    """Yield matching command words. Short ones come first, because they are typed more often."""
    ours = {word: about for word, about in OURS.items() if word.startswith(begun)}
    theirs = {one.word: one.summary for one in known.words.values() if one.word.startswith(begun)}
    for word, about in sorted({**ours, **theirs}.items(), key=lambda one: ("/" in one[0], one[0])):
        if word != "@":
            yield word, about, True


def _at_the_end(text: str) -> Word:
    """Return the word before the cursor, which may be empty."""
    marked = words(f"{text}\x00")
    last = marked[-1] if marked and marked[-1].value.endswith("\x00") else None
    if last is None:  # in a comment
        return Word("target", words("x")[0].parts, "")
    *before, part = last.parts
    shorter = part._replace(text=part.text.removesuffix("\x00"))
    return last._replace(parts=(*before, shorter))
