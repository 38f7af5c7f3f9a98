"""The command network/connect: whether a program may connect to a host that the recipe of its room does not list."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.core.effect_preview import EffectPreview

family = Family("network", category="shell")

CONNECT = "network/connect"
LONGEST_PROGRAM = 300

Host = Annotated[str, Meta(description="The name or address", min_length=1, max_length=253)]
Port = Annotated[int, Meta(description="The TCP port", ge=1, le=65_535)]
AskingProgram = Annotated[
    str, Meta(description="The program that wants to connect, for people to read", max_length=LONGEST_PROGRAM)
]


class AllowedConnection(TypedDict):
    host: str
    port: int


@family.command(
    "connect",
    tier=Tier.CODE,
    effects=Effects.OPEN_WORLD,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("what a program sent to a host cannot be taken back"),
    examples=[
        Example(
            "may npm reach its registry",
            {"host": "registry.npmjs.org", "port": 443, "program": "bash: npm install left-pad"},
        )
    ],
    related=["bash", "process/start", "approval/approve"],
    is_status_poll=True,
)
async def connect(ctx: Context, host: Host, port: Port, program: AskingProgram = "") -> AllowedConnection:
    """Decide whether a program may connect to a host that the room's recipe does not list.

    Doorward runs it for a program that connects, where the recipe says `ask`. Programs of agents wait for approval. An
    approval holds until that program ends; answer for the session, or always, to cover later ones.
    """
    return {"host": host, "port": port}


connect.asks_first = True
connect.content_parameters = ("program",)
connect.unlisted = True  # only Doorward itself asks for it; in a tool list it would mislead models


@connect.describes_effect
async def describe_connection(ctx: Context, host: str, port: int, program: str = "") -> dict[str, str]:
    return {"wouldConnect": _describe(host, port, program)}


@connect.previews_effect
async def preview_connection(ctx: Context, host: str, port: int, program: str = "") -> EffectPreview:
    return EffectPreview(None, _describe(host, port, program))


def _describe(host: str, port: int, program: str) -> str:
    return f"{program or 'A program'} wants to reach {host}:{port}."
