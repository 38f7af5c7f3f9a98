"""The one namespace of commands, assembled from families, and the way from any spelling to a command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from doorward.command import Command, Family, Undo, Undoer
from doorward.errors import UnknownCommand
from doorward.names import folded


class Registry:
    def __init__(self, families: Iterable[Family], aliases: Mapping[str, str] | None = None) -> None:
        self._commands: dict[str, Command] = {}
        self._wire: dict[str, str] = {}
        self._folded: dict[str, set[str]] = {}
        self._undoers: dict[str, Undoer] = {}
        for family in families:
            for undoer in family.undoers:
                if undoer.kind in self._undoers:
                    raise TypeError(f"two undoers for {undoer.kind!r}; each kind has exactly one")
                self._undoers[undoer.kind] = undoer
            for command in family.commands:
                self._add(command)
        for command in self:
            self._check_links(command)
        self._aliases = dict(aliases or {})

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands.values())

    def __len__(self) -> int:
        return len(self._commands)

    def __contains__(self, name: str) -> bool:
        return name in self._commands

    def __getitem__(self, name: str) -> Command:
        return self._commands[name]

    def undoer(self, kind: str) -> Undoer:
        return self._undoers[kind]

    def resolve(self, name: str, offered: Iterable[str] | None = None) -> Command:
        """The command meant by `name`, in any spelling that can mean only one.

        A refusal names the three nearest commands among those `offered` to the caller, so that nobody learns
        of commands it may not use.
        """
        command = self._commands.get(name)
        if command is not None:
            return command
        canonical = self._wire.get(name) or self._aliases.get(name)
        if canonical is None:
            candidates = self._folded.get(folded(name), set())
            canonical = next(iter(candidates)) if len(candidates) == 1 else None
        if canonical is not None:
            return self._commands[canonical]
        raise UnknownCommand(self._unknown(name, list(self._commands if offered is None else offered)))

    def _unknown(self, name: str, offered: list[str]) -> str:
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        by_fold = {folded(one): one for one in offered}
        close = difflib.get_close_matches(folded(name[:200]), by_fold, n=3, cutoff=0.3)
        nearest = [by_fold[one] for one in close] or sorted(offered)[:3]
        if not nearest:
            return f"There is no command {shown!r}, and no command is offered to you here."
        return f"There is no command {shown!r}; the nearest you may use: {', '.join(nearest)}."

    def _add(self, command: Command) -> None:
        if command.name in self._commands:
            raise TypeError(f"two commands are called {command.name!r}")
        if command.wire in self._wire:
            raise TypeError(f"{command.name!r} and {self._wire[command.wire]!r} have one wire name, {command.wire!r}")
        self._commands[command.name] = command
        self._wire[command.wire] = command.name
        self._folded.setdefault(folded(command.name), set()).add(command.name)

    def _check_links(self, command: Command) -> None:
        undo = command.facts.undo
        if isinstance(undo, Undo) and undo.kind not in (*self._undoers, "*"):
            raise TypeError(f"command {command.name}: nothing can undo {undo.kind!r}")
        for name in (*command.facts.related, *filter(None, [command.facts.reveals])):
            if name not in self._commands:
                raise TypeError(f"command {command.name}: the related command {name!r} does not exist")
