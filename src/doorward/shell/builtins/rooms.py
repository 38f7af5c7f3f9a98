"""Built-ins for rooms and people: rooms, who, messages, say, people, whoami."""

from __future__ import annotations

from typing import Any

from doorward.core.classification import Effects, Safety, Tier
from doorward.core.command import NoUndo
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import KEEPER
from doorward.shell.builtins.builtin import READ_SYSTEM, BuiltinFacts, builtin
from doorward.shell.builtins.options import BuiltinOptions, UsageError
from doorward.shell.builtins.run import BuiltinRun

_GROUP = "Rooms and people"
_SAYS = BuiltinFacts(
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    safety=Safety.SAFE,
    undo=NoUndo("people may have read it; room/delete deletes the message"),
)


@builtin("rooms", "", group=_GROUP)
async def rooms(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the rooms you can see, with their recipes."""
    items = (await speaker.call("room/list"))["items"]
    rows = [
        {"room": one["room"], "recipe": one["recipe"], "members": len(one["members"]), "topic": one["topic"]}
        for one in items
        if not one["archived"]
    ]
    speaker.write_table(rows)


@builtin("who", "[room]", ["general"], group=_GROUP)
async def who(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the members of a room; by default the current one."""
    given = await speaker.call("room/show", name=_room(speaker, options))
    kinds = given.get("kinds", {})
    speaker.write_table(
        [{"member": id, "role": role, "kind": kinds.get(id, "")} for id, role in given["members"].items()]
    )


@builtin(
    "messages", "[-n number] [room]", ["general"], group=_GROUP, options={"-n NUMBER": "Number of messages; default 20"}
)
async def messages(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print the newest messages of a room, oldest first."""
    most = options.number("-n", 20, least=1, most=200)
    given = await speaker.call("room/messages", name=_room(speaker, options), limit=most)
    for one in sorted(given["items"], key=lambda one: int(one["position"])):
        speaker.write_line(f"{one.get('at', '')[:16]}  {_sender(one)}: {_indent(_message_text(one))}")


@builtin(
    "say", "[-r room] word…", ["-r", "general", "Hello."], group=_GROUP, kind=_SAYS, options={"-r ROOM": "The room"}
)
async def say(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Post a message in a room; by default the current one. Without words it posts the piped input."""
    text = " ".join(options.words) or speaker.piped.strip()
    if not text:
        raise UsageError("the message is empty")
    room = options.values.get("-r") or speaker.ctx.call.room
    if not room:
        raise UsageError("this session is outside rooms; give -r ROOM")
    await speaker.call("room/say", name=room, text=text)


@builtin("people", "", group=_GROUP, kind=READ_SYSTEM, also=["users"])
async def people(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """List the people and agents of your tenant, with their access."""
    items = (await speaker.call("user/list"))["items"]
    speaker.write_table(items, ["id", "kind", "access", "active"])


@builtin("whoami", "", group=_GROUP, also=["me"])
async def whoami(speaker: BuiltinRun, options: BuiltinOptions) -> None:
    """Print your current identity and access."""
    caller, room = speaker.ctx.caller, speaker.ctx.call.room
    for_whom = f" for {caller.on_behalf_of}" if caller.on_behalf_of else ""
    where = f" in room {room}" if room else ""
    speaker.write_line(f"{caller.id}{for_whom}, {caller.access.label} access, tenant {caller.tenant}{where}")


def _sender(message: dict[str, Any]) -> str:
    """The sender of a message. All keepers have one name, so the person is added."""
    behalf = message.get("onBehalfOf") if message["sender"] == KEEPER else ""
    return escape_invisible(f"{message['sender']} for {behalf}" if behalf else message["sender"], lines=False)


def _message_text(message: dict[str, Any]) -> str:
    """The text of a message, followed by its files and its calls with their states."""
    if message.get("deletedAt"):
        return "(deleted)"
    parts = [message.get("text", "")]
    for one in message.get("attachments", ()):
        is_call = one["type"] == "call"
        parts.append(f"[{one['command']}: {one['state']}]" if is_call else f"[{one['name']}, {one['size']} bytes]")
    return "\n".join(filter(None, parts))


def _indent(text: str) -> str:
    """Indent the later lines of a message, so that they cannot be mistaken for other messages."""
    return escape_invisible(text).strip().replace("\n", "\n    ")


def _room(speaker: BuiltinRun, options: BuiltinOptions) -> str:
    room = options.words[0] if options.words else speaker.ctx.call.room
    if not room:
        raise UsageError("this session is outside rooms; name a room (rooms lists them)")
    if len(options.words) > 1:
        raise UsageError("it takes one room")
    return room
