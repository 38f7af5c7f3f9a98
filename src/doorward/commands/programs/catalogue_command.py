"""The command of a catalogue entry: it runs a program in the sandbox."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from doorward.commands import workspace_changes
from doorward.commands.catalogue import arguments
from doorward.commands.catalogue.arguments import build_argv, normalize_folder
from doorward.commands.catalogue.entry import (
    ARGUMENTS_PARAMETER,
    FOLDER_PARAMETER,
    INPUT_PARAMETER,
    CatalogueEntry,
    build_parameter_schema,
    required_names,
)
from doorward.commands.context import Context
from doorward.commands.programs import git, runner
from doorward.commands.programs.family import ProgramResult
from doorward.commands.programs.room_network import find_network
from doorward.config.settings import Settings
from doorward.core.classification import Access, Effects
from doorward.core.command import READS_ONLY, Command, Example, Facts, NoUndo, Undo
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, NotPermitted
from doorward.core.schema_words import usage_line
from doorward.core.signatures import result_schema

AREA = "shell"
_LONGEST = 86_400.0
_returns = functools.cache(functools.partial(result_schema, runner.run))
"""The result schema of all programs."""
_NO_UNDO = NoUndo("what a program does on the network cannot be undone")


_MOST_KNOWN = 1_000
_cache: dict[tuple[str, float], CatalogueCommand] = {}
"""A cache, keyed by the version of the entry and the setting that it depends on."""


class CatalogueCommand(Command):
    """A program of the catalogue. All its parameters are checked before the gate decides, so that a call that cannot
    run is refused, and neither waits for approval nor is recorded as started."""

    def __init__(self, entry: CatalogueEntry, settings: Settings) -> None:
        self.entry = entry
        properties = build_parameter_schema(entry)
        super().__init__(
            f"{AREA}/{entry.name}",
            _facts(entry, settings),
            run=self._run,
            summary=entry.summary,
            description=entry.description,
            category=entry.category,
            schema=properties,
            arguments={key: key for key in properties["properties"]},
            returns=_returns,
        )
        self.version = entry.version
        self.words = ARGUMENTS_PARAMETER
        spelt = {one.long.lstrip("-") for one in entry.options}
        self.beside_words = tuple(
            name for name in (FOLDER_PARAMETER, INPUT_PARAMETER) if name in self.arguments and name not in spelt
        )
        self.effect = self._show_effect
        self.preview = self._foresee if entry.writes else None
        self.runs_trial = entry.writes

    @property
    def usage(self) -> str:
        """Required parameters are those to give by name, unless the whole command line is given as `arguments`."""
        return usage_line(self.schema, required_names(self.entry))

    def check(self, params: Mapping[str, Any]) -> None:
        self.task(params)

    def task(self, params: Mapping[str, Any]) -> runner.ProgramTask:
        """The program run for these parameters. Raise BadParams if they are not valid."""
        entry = self.entry
        given = params.get(ARGUMENTS_PARAMETER)
        if given is None:
            self._check_required(params)
        super().check(params)
        typed = params
        if given is not None:
            typed = self._parse_typed(params, given)
        folder = normalize_folder(params.get(FOLDER_PARAMETER, "."))
        return runner.ProgramTask(
            argv=build_argv(entry, typed, folder),
            folder=folder,
            writes=entry.writes,
            stdin=params.get(INPUT_PARAMETER, "").encode(),
            network=entry.network,
            profile=entry.profile,
            workspace_path=entry.workspace_path,
            memory_bytes=entry.memory_bytes,
            seconds=entry.timeout_seconds,
            exit_codes=entry.exit_codes,
        )

    def _parse_typed(self, params: Mapping[str, Any], given: list[str]) -> dict[str, Any]:
        """Parse arguments as typed on a command line into parameters."""
        others = [key for key in params if key not in (ARGUMENTS_PARAMETER, FOLDER_PARAMETER, INPUT_PARAMETER)]
        if others:
            raise BadParams(
                f"{self.name}: give either {ARGUMENTS_PARAMETER} or the parameters by name; given "
                f"{ARGUMENTS_PARAMETER} and {others[0]!r}."
            )
        typed = arguments.parse_arguments(self.entry, given)
        self._check_required(typed)
        super().check(typed)
        return typed

    def _check_required(self, params: Mapping[str, Any]) -> None:
        required = required_names(self.entry)
        for name in required:
            if name not in params:
                raise BadParams(
                    f"Missing parameter {name!r}. {self.name} requires {', '.join(required)}.",
                    hint=f"Parameters: {self.usage}; or only {ARGUMENTS_PARAMETER}, with the command line as typed.",
                )

    async def _run(self, ctx: Context, /, **params: Any) -> ProgramResult:
        return await runner.run(ctx, await self._checked_task(ctx, params))

    async def _foresee(self, ctx: Context, /, **params: Any) -> EffectPreview | None:
        return await runner.foresee(ctx, await self._checked_task(ctx, params))

    async def _checked_task(self, ctx: Context, params: Mapping[str, Any]) -> runner.ProgramTask:
        """The program run, after checks that need the current settings and workspace."""
        task = self.task(params)
        if task.network and not (await find_network(ctx, wanted=True, shares=False)).reaches_out:
            raise NotPermitted(f"{self.name} needs the network, which the setting sandbox.network does not allow.")
        if self.entry.program == git.PROGRAM:
            makes_one = self.entry.prefix[:1] == ("init",)
            environment = await asyncio.to_thread(
                git.check_repository, ctx.workspace, task.folder, ctx.caller.id, makes_one=makes_one
            )
            task = runner.with_environment(task, environment)
        return task

    async def _show_effect(self, ctx: Context, /, **params: Any) -> dict[str, Any]:
        return await runner.describe_task(ctx, self.task(params))


def build_commands(entries: Iterable[CatalogueEntry], settings: Settings) -> tuple[list[Command], dict[str, str]]:
    """Build the commands of a catalogue, and their aliases."""
    made: list[Command] = []
    aliases: dict[str, str] = {}
    for entry in entries:
        try:
            made.append(_get_command(entry, settings))
        except BadParams as error:
            raise TypeError(f"command {entry.name}: {error.message}") from error
        for alias in entry.aliases:
            if alias in aliases:
                raise TypeError(f"the alias {alias!r} is used for both {aliases[alias]!r} and '{AREA}/{entry.name}'")
            aliases[alias] = f"{AREA}/{entry.name}"
    return made, aliases


def _get_command(entry: CatalogueEntry, settings: Settings) -> CatalogueCommand:
    """The command of an entry. An unchanged entry keeps its command object, so that references to it stay valid."""
    key = (entry.version, runner.find_limits(settings.sandbox, entry.profile).wall_seconds)
    found = _cache.get(key)
    if found is None:
        if len(_cache) >= _MOST_KNOWN:
            _cache.clear()
        found = _cache[key] = CatalogueCommand(entry, settings)
    return found


def _undo(entry: CatalogueEntry) -> Undo | NoUndo:
    if entry.network:
        return _NO_UNDO
    return Undo(workspace_changes.KIND) if entry.writes else READS_ONLY


def _facts(entry: CatalogueEntry, settings: Settings) -> Facts:
    access = Access.READ
    if entry.effects & Effects.DESTROY:
        access = Access.FULL
    elif entry.effects & Effects.WRITE:
        access = Access.EDIT
    limits = runner.find_limits(settings.sandbox, entry.profile)
    return Facts(
        tier=entry.tier,
        effects=entry.effects | (Effects.OPEN_WORLD if entry.network else Effects.READ),
        access=access,
        safety=entry.safety,
        cost=entry.cost,
        timeout=min(_LONGEST, (entry.timeout_seconds or limits.wall_seconds) + runner.GRACE),
        undo=_undo(entry),
        examples=tuple(Example(one.says, one.params) for one in entry.examples),
        related=entry.related,
    )
