"""Resource URIs, and the resources that a caller sees in lists: those whose command it may run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from doorward.core.errors import BadParams
from doorward.core.wire.types import Resource, ResourceTemplate
from doorward.doors.mcp.offers import RoomOffer
from doorward.sandbox.safefs import normalize_path
from doorward.upstream.resources import READ, command_names, unwrap_uri

FILES_URI = "doorward://files/"
LEDGER_URI = "doorward://ledger"
FILE_TEMPLATE = f"{FILES_URI}{{+path}}"
ROOM_TEMPLATE = "doorward://rooms/{room}/messages"
MESSAGES_PATTERN = re.compile(r"doorward://rooms/([a-z0-9][a-z0-9_-]{0,62})/messages")
MAX_URI_LENGTH = 8_192
JSON = "application/json"
MAX_ITEMS = 100
"""How many of the newest messages or ledger entries a resource holds."""


def file_uri(path: str, *, folder: bool = False) -> str:
    return f"{FILES_URI}{quote(path)}{'/' if folder else ''}"


def add_uri(item: Mapping[str, Any]) -> dict[str, Any]:
    """A folder entry with its URI, or with a note why it has none: commands do not accept some names."""
    if "note" in item:
        return dict(item)
    try:
        normalize_path(item["path"])
    except BadParams:
        return {**item, "note": "this name has control characters, so it has no URI"}
    uri = file_uri(item["path"], folder=item["type"] == "folder")
    if len(uri) > MAX_URI_LENGTH:
        return {**item, "note": f"its URI would be longer than {MAX_URI_LENGTH} characters"}
    return {**item, "uri": uri}


def messages_uri(room: str) -> str:
    return ROOM_TEMPLATE.replace("{room}", room)


def command_for(uri: str) -> str | None:
    """The command that reads this resource; None if there is no such resource."""
    if uri == LEDGER_URI:
        return "data/list"
    if MESSAGES_PATTERN.fullmatch(uri):
        return "room/messages"
    if uri.startswith(FILES_URI) and len(uri) <= MAX_URI_LENGTH:
        return "file/list" if uri.endswith("/") else "file/read"
    upstream = unwrap_uri(uri)
    return command_names(upstream[0], READ).canonical if upstream is not None else None


def list_resources(offer: RoomOffer) -> list[Resource]:
    return offer.memoize(
        "resources", lambda: [one for one in _build_resources(offer.room_name) if _is_readable(offer, one.uri)]
    )


def list_templates(offer: RoomOffer) -> list[ResourceTemplate]:
    return [one for one in _TEMPLATES if offer.has(_READ_BY[one.uri_template])]


def _is_readable(offer: RoomOffer, uri: str) -> bool:
    return offer.has(command_for(uri) or "")


def _build_resources(room: str) -> list[Resource]:
    return [
        Resource(
            uri=FILES_URI,
            name="workspace",
            title="Workspace",
            description="Files and folders at the top of the workspace, each with its URI",
            mime_type=JSON,
        ),
        Resource(
            uri=messages_uri(room),
            name=f"{room}-messages",
            title=f"Messages in {room}",
            description=f"The newest {MAX_ITEMS} messages of this room",
            mime_type=JSON,
        ),
        Resource(
            uri=LEDGER_URI,
            name="ledger",
            title="Your calls",
            description=f"Your newest {MAX_ITEMS} ledger entries: each call and its outcome",
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
        description=f"The newest {MAX_ITEMS} messages of a room that you are in",
        mime_type=JSON,
    ),
]
