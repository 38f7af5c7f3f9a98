"""The mount /system: server state as files, filled by the commands that the caller may run here."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec

from doorward import __version__
from doorward.backends.vfs.asking import asked
from doorward.backends.vfs.mount import (
    Look,
    Mount,
    Parts,
    Span,
    file,
    folder,
    is_folder,
    listed,
    missing,
    sliced,
)
from doorward.backends.vfs.paths import below
from doorward.backends.vfs.shapes import Content, Item, Listed
from doorward.errors import NotPermitted, UnknownCommand

_LOG_LINES = 1_000
_COMMANDS, _DESCRIBE = "commands", "help/describe"


class _Told(msgspec.Struct, frozen=True):
    """A file whose content is the result of a command."""

    command: str
    note: str
    params: dict[str, Any] = {}


_FILES = {
    "approvals": _Told("approval/list", "waiting and decided approvals"),
    "log": _Told("debug/logs", "the last lines of the log, one JSON object per line", {"tailLines": _LOG_LINES}),
    "models": _Told("model/list", "the available models"),
    "people": _Told("user/list", "people and agents"),
    "rooms": _Told("room/list", "the rooms you can see"),
    "servers": _Told("mcp/servers", "upstream MCP servers"),
    "status": _Told("system/status", "version, load and problems"),
}
_FOLDERS = {
    "personas": (_Told("persona/list", "the personas of this server"), "persona/show"),
    "recipes": (_Told("recipe/list", "the rules of rooms"), "recipe/show"),
}
"""Folders with the command that lists their files and the command that shows one."""
_OWN = {"me": "your current identity", "version": "the version of Doorward"}


class System(Mount):
    async def item(self, parts: Parts) -> Item:
        if not parts:
            return folder(self.root)
        above = await self.items(parts[:-1], Look(limit=10_000))
        for one in above["items"]:
            if one["name"] == parts[-1]:
                return one
        raise missing(self.path(parts), [one["name"] for one in above["items"]])

    async def items(self, parts: Parts, look: Look) -> Listed:
        items = await self._inside(parts)
        if look.recursive:
            for one in [one for one in items if one["kind"] == "folder"]:
                items += (await self.items((*parts, one["name"]), look))["items"]
        items = sorted(items, key=lambda one: one["path"])
        cut = len(items) > look.limit
        note = f"only the first {look.limit} are shown" if cut else ""
        return listed(self.path(parts), items[: look.limit], cut=cut, note=note)

    async def _inside(self, parts: Parts) -> list[Item]:
        path = self.path(parts)
        if not parts:
            return self._top()
        if parts[0] == _COMMANDS and len(parts) < 3:
            return self._commands(parts[1:])
        if parts[0] in _FOLDERS and len(parts) == 1:
            given = await asked(self.ctx, _FOLDERS[parts[0]][0].command)
            return [file(below(path, one["id"]), note=one["name"]) for one in given["items"]]
        return [await self.item(parts)]

    def _top(self) -> list[Item]:
        """The entries that this caller may read here."""
        found = [file(below(self.root, name), note=note) for name, note in _OWN.items()]
        found += [file(below(self.root, name), note=one.note) for name, one in _FILES.items() if self._may(one.command)]
        for name, (one, _) in _FOLDERS.items():
            if self._may(one.command):
                found.append(folder(below(self.root, name), one.note))
        if self._may(_DESCRIBE):
            found.append(folder(below(self.root, _COMMANDS), "every command you may run here, with its help"))
        return found

    def _may(self, command: str) -> bool:
        return self.ctx.may(command).allowed

    def _commands(self, parts: Parts) -> list[Item]:
        """The offered commands, in one folder per area; a command without an area is a file next to them."""
        ruling = self.ctx.may(_DESCRIBE)
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)
        offered = [one for one in self.ctx.house.offered(self.ctx.caller, self.ctx.call.room) if not one.unlisted]
        path = self.path((_COMMANDS, *parts))
        if not parts:
            areas = Counter(one.name.partition("/")[0] for one in offered if "/" in one.name)
            alone = [file(below(path, one.name), note=one.summary) for one in offered if "/" not in one.name]
            return [folder(below(path, area), f"{count} commands") for area, count in areas.items()] + alone
        inside = [one for one in offered if one.name.startswith(f"{parts[0]}/")]
        if not inside:
            if any(one.name == parts[0] for one in offered):
                return [file(path)]
            raise missing(path, sorted({one.name.partition("/")[0] for one in offered}))
        return [file(below(path, one.name.partition("/")[2].replace("/", "%2F")), note=one.summary) for one in inside]

    async def read(self, parts: Parts, span: Span) -> Content:
        return sliced(self.path(parts), await self._text(parts), span)

    async def _text(self, parts: Parts) -> str:
        match parts:
            case ("version",):
                return f"{__version__}\n"
            case ("me",):
                return _written(self._me())
            case ("log",):
                lines = (await asked(self.ctx, "debug/logs", **_FILES["log"].params))["items"]
                return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            case (name,) if name in _FILES:
                return _written(await asked(self.ctx, _FILES[name].command, **_FILES[name].params))
            case (name, id) if name in _FOLDERS:
                return _written(await asked(self.ctx, _FOLDERS[name][1], id=id))
            case ("commands", _, *_):
                return await self._help(parts[1:])
        found = await self.item(parts)
        raise is_folder(found["path"])

    def _me(self) -> dict[str, Any]:
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

    async def _help(self, parts: Parts) -> str:
        name = "/".join(part.replace("%2F", "/") for part in parts)
        try:
            told = await asked(self.ctx, _DESCRIBE, command=name)
        except UnknownCommand as error:
            if len(parts) == 1:
                self._commands(parts)  # an area is a folder; anything else raises that it is missing
                raise is_folder(self.path((_COMMANDS, *parts))) from error
            raise missing(self.path((_COMMANDS, *parts))) from error
        lines = [told["name"], "", told["description"], "", f"usage: {told['name']} {told['usage']}"]
        lines += [f"undo: {told['undo']}", "", "examples:"]
        lines += [f"  {one['says']}: {json.dumps(one['params'], ensure_ascii=False)}" for one in told["examples"]]
        return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
