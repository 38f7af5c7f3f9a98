"""The mount /system: server state as files, filled by the commands that the caller may run here."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec

from doorward import __version__
from doorward.core.errors import NotPermitted, UnknownCommand
from doorward.shell.vfs.inner_calls import call_inner
from doorward.shell.vfs.mount import (
    ListOptions,
    Mount,
    PathParts,
    ReadSpan,
    file_item,
    folder_item,
    is_folder_error,
    make_listing,
    missing_error,
    slice_text,
)
from doorward.shell.vfs.paths import join_path
from doorward.shell.vfs.schema import VirtualContent, VirtualFile, VirtualListing

_LOG_LINES = 1_000
_COMMANDS, _DESCRIBE = "commands", "help/describe"


class _CommandFile(msgspec.Struct, frozen=True):
    """A file whose content is the result of a command."""

    command: str
    note: str
    params: dict[str, Any] = {}


_FILES = {
    "approvals": _CommandFile("approval/list", "waiting and decided approvals"),
    "log": _CommandFile("debug/logs", "the last lines of the log, one JSON object per line", {"tailLines": _LOG_LINES}),
    "models": _CommandFile("model/list", "the available models"),
    "people": _CommandFile("user/list", "people and agents"),
    "rooms": _CommandFile("room/list", "the rooms you can see"),
    "servers": _CommandFile("mcp/servers", "upstream MCP servers"),
    "status": _CommandFile("system/status", "version, load and problems"),
}
_FOLDERS = {
    "personas": (_CommandFile("persona/list", "the personas of this server"), "persona/show"),
    "recipes": (_CommandFile("recipe/list", "the rules of rooms"), "recipe/show"),
}
"""Folders with the command that lists their files and the command that shows one."""
_FIXED_FILES = {"me": "your current identity", "version": "the version of Doorward"}


class SystemMount(Mount):
    async def item(self, parts: PathParts) -> VirtualFile:
        if not parts:
            return folder_item(self.root)
        above = await self.items(parts[:-1], ListOptions(limit=10_000))
        for one in above["items"]:
            if one["name"] == parts[-1]:
                return one
        raise missing_error(self.path(parts), [one["name"] for one in above["items"]])

    async def items(self, parts: PathParts, look: ListOptions) -> VirtualListing:
        items = await self._list_folder(parts)
        if look.recursive:
            for one in [one for one in items if one["kind"] == "folder"]:
                items += (await self.items((*parts, one["name"]), look))["items"]
        items = sorted(items, key=lambda one: one["path"])
        cut = len(items) > look.limit
        note = f"only the first {look.limit} are shown" if cut else ""
        return make_listing(self.path(parts), items[: look.limit], cut=cut, note=note)

    async def _list_folder(self, parts: PathParts) -> list[VirtualFile]:
        path = self.path(parts)
        if not parts:
            return self._list_root()
        if parts[0] == _COMMANDS and len(parts) < 3:
            return self._list_commands(parts[1:])
        if parts[0] in _FOLDERS and len(parts) == 1:
            given = await call_inner(self.ctx, _FOLDERS[parts[0]][0].command)
            return [file_item(join_path(path, one["id"]), note=one["name"]) for one in given["items"]]
        return [await self.item(parts)]

    def _list_root(self) -> list[VirtualFile]:
        """The entries that this caller may read here."""
        found = [file_item(join_path(self.root, name), note=note) for name, note in _FIXED_FILES.items()]
        found += [
            file_item(join_path(self.root, name), note=one.note)
            for name, one in _FILES.items()
            if self._may(one.command)
        ]
        for name, (one, _) in _FOLDERS.items():
            if self._may(one.command):
                found.append(folder_item(join_path(self.root, name), one.note))
        if self._may(_DESCRIBE):
            found.append(folder_item(join_path(self.root, _COMMANDS), "every command you may run here, with its help"))
        return found

    def _may(self, command: str) -> bool:
        return self.ctx.get_ruling(command).allowed

    def _list_commands(self, parts: PathParts) -> list[VirtualFile]:
        """The offered commands, in one folder per area; a command without an area is a file next to them."""
        ruling = self.ctx.get_ruling(_DESCRIBE)
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)
        offered = [one for one in self.ctx.services.offered(self.ctx.caller, self.ctx.call.room) if not one.unlisted]
        path = self.path((_COMMANDS, *parts))
        if not parts:
            areas = Counter(one.name.partition("/")[0] for one in offered if "/" in one.name)
            alone = [file_item(join_path(path, one.name), note=one.summary) for one in offered if "/" not in one.name]
            return [folder_item(join_path(path, area), f"{count} commands") for area, count in areas.items()] + alone
        inside = [one for one in offered if one.name.startswith(f"{parts[0]}/")]
        if not inside:
            if any(one.name == parts[0] for one in offered):
                return [file_item(path)]
            raise missing_error(path, sorted({one.name.partition("/")[0] for one in offered}))
        return [
            file_item(join_path(path, one.name.partition("/")[2].replace("/", "%2F")), note=one.summary)
            for one in inside
        ]

    async def read(self, parts: PathParts, span: ReadSpan) -> VirtualContent:
        return slice_text(self.path(parts), await self._read_text(parts), span)

    async def _read_text(self, parts: PathParts) -> str:
        match parts:
            case ("version",):
                return f"{__version__}\n"
            case ("me",):
                return _render_json(self._describe_caller())
            case ("log",):
                lines = (await call_inner(self.ctx, "debug/logs", **_FILES["log"].params))["items"]
                return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            case (name,) if name in _FILES:
                return _render_json(await call_inner(self.ctx, _FILES[name].command, **_FILES[name].params))
            case (name, id) if name in _FOLDERS:
                return _render_json(await call_inner(self.ctx, _FOLDERS[name][1], id=id))
            case ("commands", _, *_):
                return await self._read_help(parts[1:])
        found = await self.item(parts)
        raise is_folder_error(found["path"])

    def _describe_caller(self) -> dict[str, Any]:
        caller = self.ctx.caller
        shown = {
            "user": caller.on_behalf_of or caller.id,
            "caller": caller.id,
            "kind": caller.kind,
            "tenant": caller.tenant,
            "access": caller.access.label,
            "room": self.ctx.call.room,
        }
        return {key: value for key, value in shown.items() if value}

    async def _read_help(self, parts: PathParts) -> str:
        name = "/".join(part.replace("%2F", "/") for part in parts)
        try:
            told = await call_inner(self.ctx, _DESCRIBE, command=name)
        except UnknownCommand as error:
            if len(parts) == 1:
                self._list_commands(parts)  # an area is a folder; anything else raises that it is missing
                raise is_folder_error(self.path((_COMMANDS, *parts))) from error
            raise missing_error(self.path((_COMMANDS, *parts))) from error
        lines = [told["name"], "", told["description"], "", f"usage: {told['name']} {told['usage']}"]
        lines += [f"undo: {told['undo']}", "", "examples:"]
        lines += [f"  {one['says']}: {json.dumps(one['params'], ensure_ascii=False)}" for one in told["examples"]]
        return "\n".join(lines) + "\n"


def _render_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
