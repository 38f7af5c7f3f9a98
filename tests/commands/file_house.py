"""A workspace, a store and the file commands, put together by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doorward.commands import file, undo
from doorward.commands.context import Context, Services
from doorward.config.home import Home
from doorward.config.settings import FileSettings, Settings
from doorward.core.classification import Access
from doorward.core.clock import Clock
from doorward.core.events import Bus
from doorward.core.ids import new_id
from doorward.core.model import Call, Caller, Ruling
from doorward.core.registry import Registry
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.gate.workspaces import Workspaces
from doorward.rooms.rooms import Rooms
from doorward.store.sqlite import Store

ADA = Caller(tenant="t", id="ada", kind="human", access=Access.ROOT)
BOT = Caller(tenant="t", id="bot", kind="ai", access=Access.EDIT, on_behalf_of="ada")
STRANGER = Caller(tenant="other", id="ada", kind="human", access=Access.ROOT)


class FileHouse:
    def __init__(self, folder: Path, largest_file: int = 10_000_000) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.denied: set[str] = set()
        self.store = Store(folder / "doorward.db", b"k" * 32)
        parts: dict[str, Any] = dict.fromkeys(Services.__struct_fields__)
        self.services = Services(
            **parts
            | {
                "home": folder,
                "settings": Settings(files=FileSettings(largest_file=largest_file)),
                "clock": Clock(),
                "store": self.store,
                "registry": Registry([file.family, undo.family]),
                "events": Bus(),
                "workspaces": Workspaces(Home(folder / "home"), str(self.workspace), Rooms(self.store, Bus(), Clock())),
                "executions": ExecutionRegistry(Clock(), Bus(), Settings()),
                "get_ruling": lambda caller, room, command: Ruling(command.name not in self.denied, "test", "denied."),
            }
        )

    def close(self) -> None:
        self.store.close()

    def context(self, command: str, params: dict[str, Any], caller: Caller = ADA) -> Context:
        declared = self.services.registry[command]
        declared.check(params)
        call = Call(
            id=new_id(),
            caller=caller,
            command=declared,
            params=params,
            room="",
            door="test",
            session="",
            response="",
            workspace=str(self.workspace),
            digest="",
        )
        return Context(call, self.services, self.services.executions.create_unlisted(call))

    async def run(self, command: str, caller: Caller = ADA, **params: Any) -> Any:
        ctx = self.context(command, params, caller)
        return await ctx.call.command(ctx, params)

    async def effect(self, command: str, **params: Any) -> Any:
        ctx = self.context(command, params)
        declared = ctx.call.command
        assert declared.effect is not None
        return await declared.effect(ctx, **{declared.arguments[key]: value for key, value in params.items()})

    def names(self) -> list[str]:
        """Everything in the workspace, temporary files and all."""
        return sorted(str(one.relative_to(self.workspace)) for one in self.workspace.rglob("*"))
