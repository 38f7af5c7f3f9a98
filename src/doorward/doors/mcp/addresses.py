"""Resource URIs, and the resources that a caller sees in lists: those whose command it may run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from doorward.beneath import normal
from doorward.doors.mcp.offers import Offer
from doorward.errors import BadParams
from doorward.upstream.addressing import unwrapped
from doorward.upstream.readable import READ, names
from doorward.wire.shapes import Resource, ResourceTemplate

FILES = "doorward://files/"
LEDGER = "doorward://ledger"
FILE_TEMPLATE = f"{FILES}{{+path}}"
ROOM_TEMPLATE = "doorward://rooms/{room}/messages"
MESSAGES = re.compile(r"doorward://rooms/([a-z0-9][a-z0-9_-]{0,62})/messages")
LONGEST = 8_192
JSON = "application/json"
SHOWN = 100
"""How many of the newest messages or ledger entries a resource holds."""


def file_uri(path: str, *, folder: bool = False) -> str:
    return f"{FILES}{quote(path)}{'/' if folder else ''}"


def addressed(item: Mapping[str, Any]) -> dict[str, Any]:
    """A folder entry with its URI, or with a note why it has none: commands do not accept some names."""
    if "note" in item:
        return dict(item)
    try:
        normal(item["path"])
    except BadParams:
        return {**item, "note": "this name has control characters, so it has no URI"}
    uri = file_uri(item["path"], folder=item["type"] == "folder")
    if len(uri) > LONGEST:
        return {**item, "note": f"its URI would be longer than {LONGEST} characters"}
    return {**item, "uri": uri}


def messages_uri(room: str) -> str:
    return ROOM_TEMPLATE.replace("{room}", room)


def command_for(uri: str) -> str | None:
    """The command that reads this resource; None if there is no such resource."""
    if uri == LEDGER:
        return "data/list"
    if MESSAGES.fullmatch(uri):
        return "room/messages"
    if uri.startswith(FILES) and len(uri) <= LONGEST:
        return "file/list" if uri.endswith("/") else "file/read"
    upstream = unwrapped(uri)
    return names(upstream[0], READ).canonical if upstream is not None else None


def resources(offer: Offer) -> list[Resource]:
    return offer.made("resources", lambda: [one for one in _resources(offer.room_name) if _readable(offer, one.uri)])


def templates(offer: Offer) -> list[ResourceTemplate]:
    return [one for one in _TEMPLATES if offer.has(_READ_BY[one.uri_template])]


def _readable(offer: Offer, uri: str) -> bool:
    return offer.has(command_for(uri) or "")


def _resources(room: str) -> list[Resource]:
    return [
        Resource(
            uri=FILES,
            name="workspace",
            title="Workspace",
            description="Files and folders at the top of the workspace, each with its URI",
            mime_type=JSON,
        ),
        Resource(
            uri=messages_uri(room),
            name=f"{room}-messages",
            title=f"Messages in {room}",
            description=f"The newest {SHOWN} messages of this room",
            mime_type=JSON,
        ),
        Resource(
            uri=LEDGER,
            name="ledger",
            title="Your calls",
            description=f"Your newest {SHOWN} ledger entries: each call and its outcome",
            mime_type=JSON,
        ),
    ]


_READ_BY = {FILE_TEMPLATE: "file/read", ROOM_TEMPLATE: "room/messages"}
_TEMPLATES = [
    ResourceTemplate(
        uri_template=FILE_TEMPLATE,
        name="file",
        title="Workspace file",
        description="A file by its path. A path that ends with a slash lists that folder.",
    ),
    ResourceTemplate(
        uri_template=ROOM_TEMPLATE,
        name="room-messages",
        title="Messages in a room",
        description=f"The newest {SHOWN} messages of a room that you are in",
        mime_type=JSON,
    ),
]
