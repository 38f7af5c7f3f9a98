"""The registry: all commands in one namespace, and the lookup of a command by any of its spellings.

Commands of families are permanent. A slice is a set of commands that is replaced at runtime, such as the catalogue. It
is replaced as a whole, or not at all when it conflicts with other commands.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from doorward.core.command import Command, Family, Undo, Undoer
from doorward.core.errors import UnknownCommand
from doorward.core.names import DOOR_TOOLS, normalise


class Registry:
    def __init__(self, families: Iterable[Family], aliases: Mapping[str, str] | None = None) -> None:
        self._undoers: dict[str, Undoer] = {}
        self._declared: list[Command] = []
        for family in families:
            for undoer in family.undoers:
                if undoer.kind in self._undoers:
                    raise TypeError(f"there are two undoers for {undoer.kind!r}; each kind has exactly one")
                self._undoers[undoer.kind] = undoer
            self._declared += family.commands
        self._aliases = dict(aliases or {})
        self._slices: dict[str, _Slice] = {}
        self._names = self._build_names(self._slices)
        self.revision = 0
        """Increases with every change, so that caches built from the commands know when they are stale."""

    def __iter__(self) -> Iterator[Command]:
        return iter(self._names.commands.values())

    def __len__(self) -> int:
        return len(self._names.commands)

    def count_public(self) -> int:
        """Count the commands that are not private."""
        return sum(not command.private for command in self)

    def __contains__(self, name: str) -> bool:
        return name in self._names.commands

    def __getitem__(self, name: str) -> Command:
        return self._names.commands[name]

    def undoer(self, kind: str) -> Undoer:
        return self._undoers[kind]

    def replace(self, name: str, commands: Iterable[Command], aliases: Mapping[str, str], *, bare: bool = True) -> None:
        """Replace a slice. When the new commands conflict with others, raise TypeError and change nothing.

        With `bare`, each command is also found by its bare name (`ls` for `shell/ls`), unless that name is taken.
        """
        slices = {**self._slices, name: _Slice(list(commands), dict(aliases), bare)}
        self._names = self._build_names(slices)
        self._slices = slices
        self.revision += 1

    def taken_names(self, *, beside: str) -> frozenset[str]:
        """Every name, folded, that is taken without the slice `beside`: by a command, an alias or a door."""
        names = self._build_names({name: part for name, part in self._slices.items() if name != beside})
        return frozenset((*DOOR_TOOLS, *names.folded, *(normalise(alias) for alias in names.aliases)))

    def resolve(self, name: str, offered: Iterable[str] | None = None, *, private: bool = True) -> Command:
        """Find the command by its name, wire name, alias or an unambiguous spelling.

        The error names the three nearest commands among those `offered` to the caller, so that a caller does not learn
        of commands it may not use. With `private=False`, private commands do not exist.
        """
        command = self._find(name)
        if command is None or (command.private and not private):
            raise UnknownCommand(_unknown_message(name, list(self._names.commands if offered is None else offered)))
        return command

    def _find(self, name: str) -> Command | None:
        names = self._names
        command = names.commands.get(name)
        if command is not None:
            return command
        canonical = names.wire.get(name) or names.aliases.get(name)
        if canonical is None:
            candidates = names.folded.get(normalise(name), set())
            canonical = next(iter(candidates)) if len(candidates) == 1 else None
        return None if canonical is None else names.commands[canonical]

    def _build_names(self, slices: Mapping[str, _Slice]) -> _LookupTables:
        names = _LookupTables()
        for command in self._declared:
            names.add(command)
        names.aliases.update(self._aliases)
        for part in slices.values():
            for command in part.commands:
                names.add(command)
        for part in slices.values():
            for alias, canonical in part.aliases.items():
                names.add_alias(alias, canonical)
        for part in slices.values():
            for command in part.commands if part.bare else ():
                names.add_alias_if_free(command.name.rpartition("/")[2], command.name)
        for command in names.commands.values():
            self._check_links(command, names)
        return names

    def _check_links(self, command: Command, names: _LookupTables) -> None:
        undo = command.facts.undo
        if isinstance(undo, Undo) and undo.kind not in (*self._undoers, "*"):
            raise TypeError(f"command {command.name}: there is no undoer for {undo.kind!r}")
        for name in (*command.facts.related, *filter(None, [command.facts.reveals])):
            if name not in names.commands:
                raise TypeError(f"command {command.name}: the related command {name!r} does not exist")


class _Slice:
    __slots__ = ("aliases", "bare", "commands")

    def __init__(self, commands: list[Command], aliases: dict[str, str], bare: bool) -> None:
        self.commands = commands
        self.aliases = aliases
        self.bare = bare


class _LookupTables:
    """The lookup tables. They are rebuilt for every change, so that a reader never sees half of a change."""

    __slots__ = ("aliases", "commands", "folded", "wire")

    def __init__(self) -> None:
        self.commands: dict[str, Command] = {}
        self.wire: dict[str, str] = {}
        self.folded: dict[str, set[str]] = {}
        self.aliases: dict[str, str] = {}

    def add(self, command: Command) -> None:
        if command.name in self.commands:
            raise TypeError(f"there are two commands named {command.name!r}")
        if command.wire in self.wire:
            raise TypeError(f"{command.name!r} and {self.wire[command.wire]!r} share the wire name {command.wire!r}")
        self.commands[command.name] = command
        self.wire[command.wire] = command.name
        for spelling in (command.name, command.wire):
            self.folded.setdefault(normalise(spelling), set()).add(command.name)

    def add_alias(self, name: str, canonical: str) -> None:
        taken = self._find_taken(name)
        if taken is not None:
            raise TypeError(f"the alias {name!r} of {canonical!r} is already a name of {taken!r}")
        if canonical not in self.commands:
            raise TypeError(f"the alias {name!r} stands for {canonical!r}, which does not exist")
        self.aliases[name] = canonical

    def add_alias_if_free(self, name: str, canonical: str) -> None:
        """Add an alias if the name is free."""
        if self._find_taken(name) is None:
            self.aliases[name] = canonical
            self.folded.setdefault(normalise(name), set()).add(canonical)

    def _find_taken(self, name: str) -> str | None:
        if name in self.commands:
            return name
        return self.wire.get(name) or self.aliases.get(name)


def _unknown_message(name: str, offered: list[str]) -> str:
    shown = name if len(name) <= 60 else f"{name[:60]}…"
    by_fold = {normalise(one): one for one in offered}
    close = difflib.get_close_matches(normalise(name[:200]), by_fold, n=3, cutoff=0.3)
    nearest = [by_fold[one] for one in close] or sorted(offered)[:3]
    if not nearest:
        return f"Unknown command {shown!r}. You may not run any command here."
    return f"Unknown command {shown!r}. The nearest commands you may run: {', '.join(nearest)}."
