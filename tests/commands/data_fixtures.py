"""A store with two tenants and the data commands, put together by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doorward.commands import data, undo
from doorward.commands.context import Context, Services
from doorward.config.settings import DataSettings, Settings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import Clock
from doorward.core.command import Example, NoUndo
from doorward.core.command import Family as CommandFamily
from doorward.core.events import Bus
from doorward.core.ids import new_id
from doorward.core.model import Call, Caller, Ruling
from doorward.core.registry import Registry
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Statement, Store

ROOT = Caller(tenant="local", id="ada", kind="human", access=Access.ROOT)
FULL = Caller(tenant="local", id="flo", kind="human", access=Access.FULL)
EDIT = Caller(tenant="local", id="eve", kind="human", access=Access.EDIT)
READ = Caller(tenant="local", id="rob", kind="human", access=Access.READ)
BOT = Caller(tenant="local", id="bot", kind="ai", access=Access.EDIT, on_behalf_of="eve")
OTHER = Caller(tenant="other", id="ada", kind="human", access=Access.ROOT)

NOTE = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "done": {"type": "boolean"},
        "amount": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
    },
    "required": ["title"],
    "additionalProperties": False,
}

rooms = CommandFamily("room", category="rooms")


@rooms.command(
    "rename",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=1,
    undo=NoUndo("only for tests"),
    examples=[Example("rename", {})],
    secret=["pin"],
)
async def rename(ctx: Context) -> None:
    """Stand for a command that changes rooms and has a secret parameter."""


class DataHouse:
    def __init__(self, folder: Path, settings: DataSettings | None = None) -> None:
        self.store = Store(folder / "doorward.db", b"k" * 32)
        self.denied: set[str] = set()
        self.last = ""
        """The id of the call that ran last."""
        parts: dict[str, Any] = dict.fromkeys(Services.__struct_fields__)
        self.services = Services(
            **parts
            | {
                "home": folder,
                "settings": Settings(data=settings or DataSettings()),
                "clock": Clock(),
                "store": self.store,
                "registry": Registry([data.family, data.collection_family, undo.family, rooms]),
                "events": Bus(),
                "executions": ExecutionRegistry(Clock(), Bus(), Settings()),
                "get_ruling": lambda caller, room, command: Ruling(command.name not in self.denied, "test", "denied."),
            }
        )

    def context(self, command: str, params: dict[str, Any], caller: Caller) -> Context:
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
            workspace="",
            digest="",
        )
        self.last = call.id
        return Context(call, self.services, self.services.executions.create_unlisted(call))

    async def run(self, command: str, caller: Caller = ROOT, **params: Any) -> Any:
        ctx = self.context(command, params, caller)
        return await ctx.call.command(ctx, params)

    async def effect(self, command: str, caller: Caller = ROOT, **params: Any) -> Any:
        ctx = self.context(command, params, caller)
        declared = ctx.call.command
        assert declared.effect is not None
        return await declared.effect(ctx, **{declared.arguments[key]: value for key, value in params.items()})

    async def ids(self, collection: str, caller: Caller = ROOT, **params: Any) -> list[Any]:
        found = await self.run("data/list", caller, collection=collection, **params)
        return [item["id"] for item in found["items"]]

    async def notes(self, *bodies: dict[str, Any], caller: Caller = ROOT) -> list[str]:
        """Define the collection notes and put records into it."""
        await self.run("collection/define", caller, name="notes", schema=NOTE)
        made = [await self.run("data/create", caller, collection="notes", data=body) for body in bodies]
        return [one["id"] for one in made]

    async def seed(self) -> None:
        """Rooms, users, messages, approvals and calls, in both tenants under the same ids where ids are per tenant."""
        for tenant in ("local", "other"):
            mark = f"of-{tenant}"
            await self.store.write(
                Statement("INSERT INTO users VALUES (?, 'ada', ?, 'human', 4, 1, 10.0)", (tenant, mark)),
                Statement("INSERT INTO rooms VALUES (?, 'general', ?, 'support', 0, 1, 10.0, '', 0)", (tenant, mark)),
                Statement("INSERT INTO rooms VALUES (?, 'secret', ?, 'admin', 1, 1, 20.0, '', 0)", (tenant, mark)),
                Statement("INSERT INTO members VALUES (?, 'general', 'rob', 'human', 'member')", (tenant,)),
                Statement("INSERT INTO members VALUES (?, 'general', 'eve', 'human', 'owner')", (tenant,)),
                *(
                    Statement(
                        "INSERT INTO messages (id, tenant, room, sender, kind, text, at, position, revision)"
                        " VALUES (?, ?, ?, 'ada', 'human', ?, 30.0, 1, 1)",
                        (f"m-{tenant}-{room}", tenant, room, f"{mark} said"),
                    )
                    for room in ("general", "secret")
                ),
                Statement(
                    "INSERT INTO approvals VALUES (?, ?, 'general', 'bot', 'ai', 'eve', 'room/rename', ?, ?, '', 3,"
                    " '[]', 1, 'waiting', 40.0, 70.0, NULL, NULL, 'hunter2', NULL, '', '', '', 0, 0, 0, '', '')",
                    (f"a-{tenant}", tenant, f'{{"name": "{mark}", "password": "hunter2", "pin": "4711"}}', mark),
                ),
                entries=[
                    entry(tenant, f"c1-{tenant}", "whole", command="data/list", status="done", note=mark),
                    entry(tenant, f"c2-{tenant}", "start", command="room/rename", note=mark),
                    entry(tenant, f"c2-{tenant}", "end", command="room/rename", status="failed", note=mark),
                    entry(tenant, f"c3-{tenant}", "start", command="room/rename", note=mark, room="secret"),
                ],
            )
        await self.store.write(Statement("INSERT INTO recipes VALUES ('support', '{\"a\": {\"b\": 1}}', 'd', 5.0)"))


def entry(tenant: str, call: str, phase: Any, **more: Any) -> Entry:
    blank: dict[str, Any] = dict.fromkeys(Entry.__struct_fields__, "")
    facts = {
        "at": 50_000_000,
        "phase": phase,
        "call": call,
        "tenant": tenant,
        "caller": "eve",
        "kind": "human",
        "door": "test",
        "room": "general",
        "params": f'{{"secret-of": "{tenant}", "n": 1}}',
        "reserved": 0.0,
        "spent": 0.0,
        "duration": 1_500,
    }
    return Entry(**blank | facts | more)
