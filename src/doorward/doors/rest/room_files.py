"""Upload and download of attachments as raw bytes."""

from __future__ import annotations

import base64
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from doorward.backends.context import Services
from doorward.doors.rest import reading
from doorward.doors.rest.governed import DOOR, Governed, answered
from doorward.doors.rest.once import Once
from doorward.model import Request as Asked
from doorward.rooms.files import IMAGES

_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Attachments are not trusted: a browser must not run one or guess another type for it."""


class RoomFiles:
    def __init__(self, governed: Governed, once: Once, services: Services) -> None:
        self._governed = governed
        self._once = once
        self._services = services

    async def upload(self, request: Request) -> Response:
        """Store the raw body, whatever its Content-Type says."""
        reading.accepts(request, [reading.JSON])
        credential = await self._governed.vouched(request, "room/attach")
        query = reading.query(request, ["room", "file"])
        body = await reading.whole(request, self._services.settings.rooms.attachment_bytes)
        content = base64.b64encode(body).decode()
        name = str(request.path_params["name"])
        asked = Asked(
            command="room/attach",
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params={"name": name, "file": query.get("file", "file"), "content": content},
        )
        return await self._once.answer(
            request,
            asked,
            body,
            lambda one, watch: self._governed.outcome(request, one, watch),
            lambda one: answered(one, created=True),
        )

    async def download(self, request: Request) -> Response:
        """Send the bytes of an attachment, after the gate allowed it."""
        credential = await self._governed.vouched(request, "room/attachment")
        query = reading.query(request, ["room"])
        name, id = str(request.path_params["name"]), str(request.path_params["id"])
        asked = Asked(
            command="room/attachment",
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params={"name": name, "id": id},
        )
        outcome = await self._governed.outcome(request, asked)
        if outcome is None or outcome.status != "done":
            return answered(outcome)
        facts = outcome.result
        room = self._services.rooms.known(self._governed.gate.caller(credential).tenant, name)
        content = await self._services.files.content(room, id, 0, facts["size"])
        media = facts["mediaType"]
        way = "inline" if media in IMAGES else "attachment"
        headers = {**_HEADERS, "Content-Disposition": f"{way}; filename*=UTF-8''{quote(facts['name'], safe='')}"}
        return Response(content, headers=headers, media_type=media)
