"""Drafts: where a recipe says so, agents change a copy-on-write draft of the workspace, which a person merges.

A draft is an overlay: its lower layer is the workspace, its upper layer a folder in Doorward's home, which survives a
restart. Programs and file commands of a call see the same mounted draft.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doorward.config.settings import Settings
from doorward.core.classification import Effects, Tier
from doorward.core.clock import Clock
from doorward.core.command import Command
from doorward.core.errors import Conflict, NotFound
from doorward.core.model import Call, Caller
from doorward.gate.recipes.book import RecipeBook
from doorward.gate.sandbox_terms import find_strategy
from doorward.gate.workspaces import Workspaces
from doorward.rooms.rooms import Rooms
from doorward.sandbox.draft_bases import prune_layer, save_bases
from doorward.sandbox.draft_size import CACHE, DraftSize
from doorward.sandbox.program import ProgramLimits, SandboxProfile
from doorward.sandbox.sandbox import Sandbox
from doorward.store import drafts as sql
from doorward.store.sqlite import Statement, Store

log = logging.getLogger(__name__)

_REMOVE_SECONDS = 5.0
"""How long a call waits until a dropped draft is removed from the disk."""


class DraftRun(msgspec.Struct, frozen=True):
    """The last program that ran in a draft, for the people who review it."""

    command: str
    exit_code: int | None
    output: str
    at: float


class Draft(msgspec.Struct, kw_only=True):
    tenant: str
    id: str
    room: str
    caller: str
    behalf: str
    name: str
    workspace: str
    folder: str
    created_at: float
    merging: str = ""
    """The call that merges it now; empty for none."""
    last_run: DraftRun | None = None
    last_merge: Mapping[str, Any] | None = None
    """What was merged of it last, as the result of that command."""
    stored: bool = False
    """Whether it exists: a draft that a refused call would have opened does not."""
    root: str = ""
    """The path of its top folder while it is mounted."""
    size: DraftSize
    calls: dict[str, int] = {}
    """The calls that run in it now, with the times at which they began, in nanoseconds."""
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    settling: asyncio.Task[None] | None = None

    @property
    def upper(self) -> str:
        return f"{self.folder}/upper"

    @property
    def bases(self) -> str:
        return f"{self.folder}/bases"

    def belongs_to(self, caller: Caller) -> bool:
        return (self.tenant, self.caller, self.behalf) == (caller.tenant, caller.id, caller.on_behalf_of)


class Drafts:
    def __init__(
        self,
        home: Path,
        store: Store,
        sandbox: Sandbox,
        clock: Clock,
        settings: Settings,
        rooms: Rooms,
        recipes: RecipeBook,
        workspaces: Workspaces,
    ) -> None:
        self._folder = home / "drafts"
        self._store = store
        self._sandbox = sandbox
        self._clock = clock
        self.settings = settings.sandbox
        """The limits of drafts and of programs in them. They change when the settings file does."""
        self._rooms = rooms
        self._recipes = recipes
        self._workspaces = workspaces
        self._drafts: dict[str, Draft] = {}
        self._chosen: dict[str, str] = {}
        """The draft that a session chose with draft/open."""
        self._removing: set[asyncio.Task[None]] = set()

    def list_interrupted(self) -> list[Draft]:
        """The drafts whose merge was interrupted when Doorward was killed."""
        return [draft for draft in self._drafts.values() if draft.merging]

    async def end_merge(self, draft: Draft) -> None:
        await self._store.write(sql.set_merging(draft.id, ""))
        draft.merging = ""

    async def load(self) -> None:
        for row in await sql.all_drafts(self._store):
            run = msgspec.json.decode(row.pop("last_run") or "null", type=DraftRun | None)
            merge = msgspec.json.decode(row.pop("last_merge") or "null")
            folder = str(self._folder / row["id"])
            draft = Draft(**row, folder=folder, size=DraftSize(folder), last_run=run, last_merge=merge, stored=True)
            self._drafts[draft.id] = draft
            await self._settle(draft, None, None)
        if self._folder.is_dir():
            for left in self._folder.iterdir():
                if left.name not in self._drafts:
                    await self._remove(left)

    def uses_drafts(self, tenant: str, room: str) -> bool:
        strategy = find_strategy(self._rooms, self._recipes, tenant, room)
        return strategy is not None and strategy.changes == "draft"

    def choose(self, caller: Caller, room: str, session: str, command: Command) -> Draft | None:
        """The draft that a call works in; None for the workspace itself. People always work in the workspace.

        An agent's first change opens a draft. Until then it reads the workspace.
        """
        if caller.kind == "human" or not self.uses_drafts(caller.tenant, room):
            return None
        workspace = self._workspaces.find(caller.tenant, room)
        here = [one for one in self._drafts.values() if (one.room, one.workspace) == (room, workspace)]
        own = [one for one in here if one.belongs_to(caller)]
        chosen = self._chosen.get(session, "")
        if any(one.id == chosen for one in own):
            return self._drafts[chosen]
        if own:
            return max(own, key=lambda one: (one.created_at, one.id))
        if command.reads_only or command.facts.tier is not Tier.CODE:
            return None
        return self._new(caller, room, "")

    def find_place(self, caller: Caller, room: str, session: str, command: Command) -> tuple[str, str]:
        """The folder that a call works in, and its draft; the draft is empty for the workspace itself."""
        draft = self.choose(caller, room, session, command)
        return (draft.folder, draft.id) if draft is not None else (self._workspaces.find(caller.tenant, room), "")

    def open_another(self, caller: Caller, room: str, session: str, name: str) -> Draft:
        """A further draft of this caller, in which the session works from now on."""
        draft = self._new(caller, room, name)
        self._chosen[session] = draft.id
        return draft

    def switch(self, draft: Draft, session: str) -> None:
        self._chosen[session] = draft.id

    def contains(self, folder: str) -> bool:
        """Whether a folder is that of a draft, also of one that no longer exists."""
        return Path(folder).parent == self._folder

    def get(self, id: str) -> Draft:
        return self._drafts[id]

    def find(self, tenant: str, room: str, id: str) -> Draft:
        draft = self._drafts.get(id)
        if draft is None or not draft.stored or (draft.tenant, draft.room) != (tenant, room):
            here = ", ".join(one.id for one in self.list_room(tenant, room)) or "none"
            raise NotFound(f"There is no draft {id[:40]!r} in this room; valid: {here}.")
        return draft

    def list_room(self, tenant: str, room: str) -> list[Draft]:
        """The drafts of a room, oldest first."""
        here = [one for one in self._drafts.values() if one.stored and (one.tenant, one.room) == (tenant, room)]
        return sorted(here, key=lambda one: one.created_at)

    async def prepare(self, call: Call) -> None:
        """Mount the draft of a call before its command runs. The first call creates it."""
        command = call.command
        can_delete = Effects.DESTROY in command.facts.effects  # programs among them are stopped when it grows
        grows = not command.reads_only and not can_delete and not command.name.startswith("draft/")
        await self.mount(self._drafts[call.draft], grows=grows)

    async def mount(self, draft: Draft, *, grows: bool = False) -> str:
        """Mount a draft, if it is not, and return the path of its top folder. One that is too large may not grow."""
        limit = self.settings.draft_bytes
        async with draft.lock:
            if grows and draft.size.bytes > limit:
                raise Conflict(
                    f"The draft {draft.id} has {draft.size.bytes:,} bytes; at most {limit:,} are allowed (setting "
                    "sandbox.draft_bytes).",
                    hint="Delete build output with bash or file/delete, submit it, drop it, or raise the setting.",
                )
            if draft.id not in self._drafts:
                raise Conflict(f"The draft {draft.id} was dropped.")
            if not draft.stored:
                for name in ("upper", "work", "bases"):
                    os.makedirs(f"{draft.folder}/{name}", 0o700, exist_ok=True)
                await asyncio.to_thread(save_bases, draft.folder, draft.workspace, 0)
                await self._store.write(_insert(draft))
                draft.stored = True
            if not self._sandbox.is_draft_mounted(draft.folder):
                os.makedirs(f"{draft.folder}/{CACHE}", 0o700, exist_ok=True)
                await asyncio.to_thread(prune_layer, draft.upper, draft.workspace, draft.bases)
            draft.root = await self._sandbox.open_draft(self.profile(draft))
            return draft.root

    def profile(self, draft: Draft) -> SandboxProfile:
        """The sandbox profile of every program in a draft."""
        build = self.settings.build
        strategy = find_strategy(self._rooms, self._recipes, draft.tenant, draft.room)
        return SandboxProfile(
            workspace=draft.workspace,
            files="write",
            network=strategy is not None and strategy.sandbox.network == "all" and self.settings.network,
            limits=ProgramLimits(
                cpu_seconds=build.cpu_seconds,
                memory_bytes=build.memory_bytes,
                processes=build.processes,
                file_bytes=build.file_bytes,
                descriptors=build.descriptors,
                scratch_bytes=build.scratch_bytes,
            ),
            name="build",
            draft=draft.folder,
            draft_bytes=self.settings.draft_bytes,
            room=(draft.tenant, draft.room),
        )

    def begin(self, call: Call) -> None:
        """Note that a call runs in its draft."""
        self._drafts[call.draft].calls[call.id] = time.time_ns()

    async def end(self, call: Call) -> None:
        """Note that a call ended, and keep what it replaced in the workspace, for merging."""
        draft = self._drafts.get(call.draft)
        if draft is None:
            return
        since = min(draft.calls.values())  # a call that began earlier may have changed something before this one
        del draft.calls[call.id]
        if not call.command.reads_only:
            before = draft.settling
            draft.settling = asyncio.create_task(self._settle(draft, since, before))
            await asyncio.shield(draft.settling)

    async def settle(self, draft: Draft) -> None:
        """Wait until everything about ended calls is kept."""
        while (task := draft.settling) is not None:
            await asyncio.wait([task])
            if draft.settling is task:
                draft.settling = None

    async def note_run(self, draft: Draft, run: DraftRun) -> None:
        draft.last_run = run
        await self._store.write(sql.set_last_run(draft.id, msgspec.json.encode(run).decode()))

    async def note_merge(self, draft: Draft, merge: Mapping[str, Any]) -> None:
        draft.last_merge = merge
        await self._store.write(sql.set_last_merge(draft.id, msgspec.json.encode(merge).decode()))

    async def show_workspace(self, draft: Draft) -> None:
        """Let the workspace's version show again where the draft has no changes of its own.

        That needs an unmounted draft. While other calls run in it, it is left for later.
        """
        if len(draft.calls) > 1 or self._sandbox.is_draft_busy(draft.folder):
            return
        async with draft.lock:
            await self._sandbox.close_draft(draft.folder)
            draft.root = ""
            await asyncio.to_thread(prune_layer, draft.upper, draft.workspace, draft.bases)

    async def drop(self, draft: Draft) -> None:
        """Delete a draft with everything in it."""
        async with draft.lock:
            await self._sandbox.close_draft(draft.folder)
            await self._store.write(sql.delete_draft(draft.id), then=lambda: self._forget(draft))
            await self._remove(Path(draft.folder))

    async def _remove(self, folder: Path) -> None:
        """Remove a draft's folder. A large one is removed in the background; what is left, at the next start."""
        task = asyncio.create_task(_remove_tree(folder))
        self._removing.add(task)
        task.add_done_callback(self._removing.discard)
        await asyncio.wait([task], timeout=_REMOVE_SECONDS)

    def _forget(self, draft: Draft) -> None:
        self._drafts.pop(draft.id, None)

    def _new(self, caller: Caller, room: str, name: str) -> Draft:
        id = secrets.token_hex(4)
        folder = str(self._folder / id)
        draft = self._drafts[id] = Draft(
            tenant=caller.tenant,
            id=id,
            room=room,
            caller=caller.id,
            behalf=caller.on_behalf_of,
            name=name,
            workspace=self._workspaces.find(caller.tenant, room),
            folder=folder,
            size=DraftSize(folder),
            created_at=self._clock.now(),
        )
        return draft

    async def _settle(self, draft: Draft, since: int | None, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        try:
            await asyncio.to_thread(save_bases, draft.folder, draft.workspace, since)
            limit = self.settings.draft_bytes
            if draft.size.bytes > limit or draft.size.is_due(limit):
                await asyncio.to_thread(draft.size.measure)
        except OSError as error:
            log.warning("what the draft %s replaced cannot be kept: %s", draft.id, error)


def remove_tree(folder: Path) -> None:
    """Remove a draft's folder, whatever permissions its programs left in it."""
    for place, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


async def _remove_tree(folder: Path) -> None:
    try:
        await asyncio.to_thread(remove_tree, folder)
    except OSError as error:
        log.warning("the folder %s of a dropped draft cannot be removed: %s", folder, error)


def _insert(draft: Draft) -> Statement:
    return sql.insert_draft(
        draft.tenant,
        draft.id,
        room=draft.room,
        caller=draft.caller,
        behalf=draft.behalf,
        name=draft.name,
        workspace=draft.workspace,
        at=draft.created_at,
    )
