"""MCP over Streamable HTTP: one endpoint, `/mcp` or `/mcp/{room}`, for both eras.

It is a bare ASGI application, because every call passes through it. The guard in front of it has checked Host and
Origin. This endpoint authenticates every request, and the gate authenticates every call.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import cast, get_args

from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from doorward.core.errors import DEFECT, DoorwardError, NotAuthenticated, NotFound
from doorward.core.ids import new_id
from doorward.core.model import Credential
from doorward.core.wire import codes, frames, meta
from doorward.core.wire.frames import WireError, WireRequest, WireResponse
from doorward.core.wire.meta import RequestMeta
from doorward.doors.http.request_cycle import authenticate_sender
from doorward.doors.mcp import authorization, http_request, results
from doorward.doors.mcp.door import McpDoor, current_task
from doorward.doors.mcp.http_reply import DisconnectWatch, HttpReply, StreamLimiter, UnwatchedRequests
from doorward.doors.mcp.http_request import HttpRefusal, RequestHead
from doorward.doors.mcp.http_sessions import McpSession, McpSessions, principal_of
from doorward.doors.mcp.peer import Peer, ToolListing
from doorward.doors.mcp.versions import Era

log = logging.getLogger(__name__)

PATH = "/mcp"
_ROOM = f"{PATH}/{{room}}"
_ADDRESS = re.compile(f"{PATH}(?:/[^/]+)?")
METHODS = b"POST, GET, DELETE"

STATUS = {
    codes.PARSE_ERROR: 400,
    codes.INVALID_REQUEST: 400,
    codes.INVALID_PARAMS: 400,
    codes.HEADER_MISMATCH: 400,
    codes.MISSING_CAPABILITY: 400,
    codes.UNSUPPORTED_VERSION: 400,
    codes.METHOD_NOT_FOUND: 404,
}
"""The HTTP status of an error in the stateless era. Other errors, and all errors of the session era, use 200."""

CredentialOf = Callable[[Headers], Credential]
PersonOf = Callable[[Headers], Credential | None]


class HttpEndpoint:
    """`credential_of` replaces the bearer token; `person_of` gives the credential of who can approve in the client."""

    def __init__(
        self, door: McpDoor, credential_of: CredentialOf | None = None, person_of: PersonOf | None = None
    ) -> None:
        self._door = door
        self._gate = door.gate
        self._settings = door.services.settings.mcp
        self._credential_of = credential_of
        self._person_of = person_of
        self._streams = StreamLimiter(self._settings)
        self._unwatched = UnwatchedRequests()
        self._event_loop: asyncio.AbstractEventLoop | None = None
        self.sessions = McpSessions(self._settings, door.services.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = HttpReply(send, self._streams, self._settings.keep_alive_seconds)
        headers: Mapping[bytes, bytes] = {}
        try:
            head = http_request.parse_head(scope)
            headers = head.headers
            await self._handle(scope, receive, head, reply)
        except HttpRefusal as turned:
            if turned.status == 405:
                reply.headers.append((b"allow", METHODS))
            await reply.finish(turned.frame(reply.id), turned.status)
        except WireError as error:
            await reply.finish(error.frame(reply.id), STATUS.get(error.code, 400))
        except NotAuthenticated as error:
            where = authorization.build_challenge(scope, headers, self._door.services.settings, scope["path"])
            reply.headers.append((b"www-authenticate", where))
            await reply.finish(results.refusal(error).frame(reply.id), 401)
        except NotFound as error:
            await reply.finish(frames.failure(reply.id, codes.INVALID_REQUEST, error.message), 404)
        except DoorwardError as error:
            if error.retry_after is not None:
                reply.headers.append((b"retry-after", b"%d" % max(1, round(error.retry_after))))
            refusal = results.refusal(error)
            await reply.finish(refusal.frame(reply.id), refusal.code)
        except Exception:
            log.exception("a request to the MCP endpoint failed")
            await reply.finish(frames.failure(reply.id, codes.INTERNAL_ERROR, DEFECT), 500)
        finally:
            reply.release()

    def _handle(self, scope: Scope, receive: Receive, head: RequestHead, reply: HttpReply) -> Awaitable[None]:
        method = scope["method"]
        if method not in ("POST", "GET", "DELETE"):
            raise HttpRefusal(405, f"{method} is not supported here; valid: {METHODS.decode()}.")
        credential = self._credential_of(Headers(scope=scope)) if self._credential_of else head.credential
        reply.who = lambda: principal_of(self._gate.caller(credential))
        if method == "POST":
            return self._post(scope, receive, head, credential, reply)
        return self._handle_session(scope, receive, head.headers, credential, reply)

    async def _handle_session(
        self, scope: Scope, receive: Receive, headers: Mapping[bytes, bytes], credential: Credential, reply: HttpReply
    ) -> None:
        method = scope["method"]
        authenticate_sender(scope, principal_of(self._gate.caller(credential)))
        if b"mcp-session-id" not in headers:
            raise HttpRefusal(405, f"{method} needs the header Mcp-Session-Id. Send messages with POST.")
        session = self._find_session(scope, headers, credential)
        if method == "GET":
            await self._listen(receive, headers, session, reply)
        else:
            self.sessions.remove(session)
            await self._door.close(session.peer)
            await reply.send_status(204)

    async def _post(
        self, scope: Scope, receive: Receive, head: RequestHead, credential: Credential, reply: HttpReply
    ) -> None:
        self._authenticate_sender(scope, head, credential)
        headers = head.headers
        reply.open = head.accepts_events
        most = self._settings.largest_message
        frame = frames.parse_frame(await http_request.read_body(receive, head, most), most)
        if isinstance(frame, WireRequest):
            await self._request(scope, receive, headers, credential, reply, frame)
            return
        self._gate.caller(credential)
        if isinstance(frame, WireResponse):
            self._find_session(scope, headers, credential).peer.handle_response(frame)
        elif b"mcp-session-id" in headers:
            self._door.handle_notification(self._find_session(scope, headers, credential).peer, frame)
        await reply.send_status(202)

    def _authenticate_sender(self, scope: Scope, head: RequestHead, credential: Credential) -> None:
        """Authenticate before a large body is read. A small one is read anyway, because a refusal quotes its id."""
        if not (head.may_post and head.is_small):
            head.principal = principal_of(self._gate.caller(credential))
        elif head.principal is None:
            with contextlib.suppress(DoorwardError):
                head.principal = principal_of(self._gate.caller(credential))
        if head.principal is not None:
            authenticate_sender(scope, head.principal)

    async def _request(
        self,
        scope: Scope,
        receive: Receive,
        headers: Mapping[bytes, bytes],
        credential: Credential,
        reply: HttpReply,
        request: WireRequest,
    ) -> None:
        era = _detect_era(headers, request)
        reply.id = request.id
        try:
            if request.method != "tools/call":
                self._gate.caller(credential)  # the gate itself authenticates tools/call
            said = meta.parse_meta(request.method, request.params)
            if era is Era.STATELESS:
                self._check_headers(headers, request, said)
                peer = self._make_peer(scope, credential, "")
            elif request.method == "initialize":
                peer = self._make_peer(scope, credential, f"mcp:{new_id()}")
            else:
                peer = self._find_session(scope, headers, credential).peer
            task = current_task(self._loop())
            with DisconnectWatch(receive, self._unwatched, task) as hangup:
                frame = await self._door.answer(peer, era, request, said, reply, task)
            if hangup.left:
                return
            if era is Era.SESSIONS and request.method == "initialize":
                self._open_session(scope, peer, credential, reply)
        except WireError as error:
            await reply.finish(error.frame(request.id), STATUS.get(error.code, 200) if era is Era.STATELESS else 200)
            return
        if frame is None:
            await reply.begin()
            await reply.end()
        else:
            await reply.finish(frame)

    async def _listen(
        self, receive: Receive, headers: Mapping[bytes, bytes], session: McpSession, reply: HttpReply
    ) -> None:
        """GET: a stream of notifications, until the client disconnects, or its session or token stops being valid."""
        http_request.check_accepts(headers, http_request.EVENTS)
        outbox = session.peer.outbox
        if outbox is None:
            raise HttpRefusal(400, "This session is not initialized.")
        await reply.begin()
        session.streams += 1
        try:
            with DisconnectWatch(receive, self._unwatched, current_task()) as hangup:
                await self._door.send_notifications(session.peer, outbox, reply.send)
            if not hangup.left:
                await reply.end()
        finally:
            session.streams -= 1

    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of this endpoint; cached, because looking it up takes a system call."""
        if self._event_loop is None:
            self._event_loop = asyncio.get_running_loop()
        return self._event_loop

    def _check_headers(self, headers: Mapping[bytes, bytes], request: WireRequest, said: RequestMeta) -> None:
        if said.version is not None:
            http_request.check_version(headers, said)
        else:
            http_request.check_supported(headers)
        self._door.check_meta(request, said)
        http_request.check_headers(headers, request)

    def _make_peer(self, scope: Scope, credential: Credential, name: str) -> Peer:
        person = self._person_of(Headers(scope=scope)) if self._person_of else None
        room = _room_in_path(scope)
        if not room:
            room = self._gate.caller(credential).resolve_room("") or self._settings.room
        tools = _listing_in_query(scope) or self._settings.tools
        return Peer(credential, room, person, _drop_frame, "http", tools, name, _client_address(scope))

    def _find_session(self, scope: Scope, headers: Mapping[bytes, bytes], credential: Credential) -> McpSession:
        id = headers.get(b"mcp-session-id")
        if id is None:
            raise HttpRefusal(
                400, "The header Mcp-Session-Id is missing. Send `initialize` first: its response has one."
            )
        return self.sessions.find(id.decode("latin-1"), credential, _room_in_path(scope))

    def _open_session(self, scope: Scope, peer: Peer, credential: Credential, reply: HttpReply) -> None:
        try:
            session, gone = self.sessions.add(peer, self._gate.caller(credential), _room_in_path(scope))
        except DoorwardError:
            self._door.forget(peer)
            raise
        for one in gone:
            self._door.forget(one.peer)
        reply.headers.append((b"mcp-session-id", session.id.encode()))


class EndpointShortcut:
    """Sends MCP requests straight to the endpoint, because routing costs more than most of the endpoint's work. The
    endpoint is looked up in the routes once."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._endpoint: ASGIApp | None = None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or not scope["path"].startswith(PATH) or not _ADDRESS.fullmatch(scope["path"]):
            return self._app(scope, receive, send)
        if self._endpoint is None:
            endpoints = [route.app for route in self._app.routes if isinstance(route, Route) and route.path == _ROOM]
            self._endpoint = endpoints[0]
        return self._endpoint(scope, receive, send)


def mcp_routes(door: McpDoor) -> list[Route]:
    """The endpoint under both of its paths, and the metadata that tells clients how to authenticate."""
    endpoint, metadata = HttpEndpoint(door), authorization.ProtectedResourceMetadata(door.services.settings)
    known = authorization.WELL_KNOWN
    return [
        Route(PATH, endpoint),
        Route(_ROOM, endpoint),
        *(Route(f"{known}{path}", metadata) for path in ("", PATH, _ROOM)),
    ]


def _client_address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _listing_in_query(scope: Scope) -> ToolListing | None:
    """The tool list that the address asks for, as in `/mcp/general?tools=all`; None if it names none."""
    query = scope.get("query_string", b"")
    given = QueryParams(query).get("tools") if query else None
    if given is None:
        return None
    for listing in get_args(ToolListing):
        if given == listing:
            return cast("ToolListing", listing)
    raise HttpRefusal(400, f"tools in the address must be auto, all or search; given {given[:40]!r}.")


def _room_in_path(scope: Scope) -> str:
    """The room in the path; empty if the path has none."""
    path: str = scope["path"]
    return path.removeprefix(PATH).strip("/")


def _detect_era(headers: Mapping[bytes, bytes], request: WireRequest) -> Era:
    """The era of the version that the request names. An unknown version is refused like one of the stateless era."""
    about = request.params.get("_meta")
    if type(about) is dict and about.get(meta.VERSION) is not None:
        return Era.STATELESS
    version = headers.get(b"mcp-protocol-version")
    if version is None or version.decode("latin-1") in codes.WITH_SESSIONS:
        return Era.SESSIONS
    return Era.STATELESS


async def _drop_frame(frame: bytes) -> None:
    """HTTP sends messages only in a response, or on a stream that the client opened."""
