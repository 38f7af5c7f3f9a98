"""MCP resources: workspace files, room messages, and the caller's own ledger entries.

Every resource is read by a command through the gate, so reading needs the same rights and leaves the same record as
that command. Listing runs no command. Clients find files by reading folders.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from doorward.commands.context import Services
from doorward.core.model import Caller, Outcome
from doorward.core.wire.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from doorward.core.wire.frames import WireError
from doorward.core.wire.types import ResourceContents
from doorward.doors.mcp import encoding, pagination, resource_uris
from doorward.doors.mcp.approval_flow import ApprovalFlow
from doorward.doors.mcp.offers import OfferCache
from doorward.doors.mcp.request import McpRequest
from doorward.doors.mcp.resource_uris import FILES_URI, JSON, LEDGER_URI, MAX_ITEMS, MESSAGES_PATTERN, ROOM_TEMPLATE
from doorward.doors.mcp.results import protocol_error
from doorward.doors.mcp.upstream_lists import UpstreamLists
from doorward.doors.mcp.versions import Era
from doorward.rooms.people import LOCAL
from doorward.upstream.resources import unwrap_uri

_TEXT_TYPES = frozenset(
    {None, JSON, "application/xml", "application/javascript", "application/toml", "application/yaml"}
)
_MAX_BYTES = 1_000_000
"""Most bytes of another server's resource, as encoded in a message."""
_NEEDS_APPROVAL = "Each read of this resource waits for a person's approval, so nobody can subscribe to it."
_encode = msgspec.json.Encoder().encode


class Resources:
    def __init__(
        self, services: Services, offers: OfferCache, aggregated: UpstreamLists, carrying: ApprovalFlow
    ) -> None:
        self._services = services
        self._offers = offers
        self._upstream_lists = aggregated
        self._flow = carrying

    async def list_resources(self, ask: McpRequest) -> bytes:
        offer = self._offers.get(ask.caller, ask.peer.room)
        resources = [
            *resource_uris.list_resources(offer),
            *self._upstream_lists.resources(offer),
        ]
        return self._page(ask, "resources", resources, _uri)

    async def list_templates(self, ask: McpRequest) -> bytes:
        offer = self._offers.get(ask.caller, ask.peer.room)
        templates = [
            *resource_uris.list_templates(offer),
            *self._upstream_lists.templates(offer),
        ]
        return self._page(ask, "resourceTemplates", templates, _template)

    def _page(self, ask: McpRequest, kind: str, items: list[Any], key: Any) -> bytes:
        items.sort(key=key)
        after = pagination.parse_cursor(kind, ask.params.get("cursor"))
        shown, cursor = pagination.paginate(kind, items, key, after, self._services.settings.mcp.page)
        body: dict[str, Any] = {kind: shown}
        if cursor is not None:
            body["nextCursor"] = cursor
        return encoding.encode_cacheable(ask.era, body, self._offers.cache_ms)

    async def read(self, ask: McpRequest) -> bytes:
        uri = ask.require_string("uri")
        if unwrap_uri(uri) is not None:
            return await self._read_upstream(ask, uri)
        contents = await self._read_contents(ask, uri)
        return encoding.encode_cacheable(ask.era, {"contents": [contents]}, 0)

    async def _read_upstream(self, ask: McpRequest, uri: str) -> bytes:
        """Read a resource of another MCP server with that server's command."""
        command = self._find_command(ask.caller, uri)
        if command is None:
            raise self._missing_error(ask, uri)
        outcome = await self._flow.run(ask, ask.build_gate_request(command, {"uri": uri}))
        if isinstance(outcome, bytes):
            return outcome
        if outcome.status != "done":
            raise protocol_error(ask.era, outcome, uri)
        contents = _encode([block["resource"] for block in outcome.result.content])
        if len(contents) > _MAX_BYTES:
            sentence = f"{uri[:200]} has {len(contents)} bytes; one message holds at most {_MAX_BYTES}."
            raise WireError(INVALID_PARAMS, sentence, {"uri": uri, "call": outcome.call})
        return encoding.encode_cacheable(ask.era, {"contents": msgspec.Raw(contents)}, 0)

    def _find_command(self, caller: Caller, uri: str) -> str | None:
        """The command that reads this resource, if this caller has one."""
        name = resource_uris.command_for(uri)
        if name is None or name not in self._services.registry:
            return None
        return None if self._services.registry[name].private and caller.tenant != LOCAL else name

    def _missing_error(self, ask: McpRequest, uri: str) -> WireError:
        """The error for an unknown resource, which may belong to a server that is not connected."""
        name = resource_uris.command_for(uri)
        absent = self._services.explain_absence(ask.caller, ask.peer.room, name) if name is not None else None
        if absent is None:
            return _unknown_error(ask.era, uri)
        told = {"uri": uri[: resource_uris.MAX_URI_LENGTH], "retry": "later" if absent.retry_after else "after_fix"}
        return WireError(_missing_code(ask.era), f"There is no resource {uri[:200]!r} now. {absent.why}", told)

    def check_readable(self, ask: McpRequest, uri: str) -> None:
        """Refuse a URI that is not a resource or that this caller may not read."""
        command = self._find_command(ask.caller, uri)
        if command is None:
            raise self._missing_error(ask, uri)
        ruling = self._services.get_ruling(ask.caller, ask.peer.room, self._services.registry[command])
        if not ruling.allowed:
            raise WireError(INVALID_PARAMS, ruling.reason, {"uri": uri, "code": "not_permitted", "rule": ruling.rule})
        if self.needs_approval(ask.caller, ask.peer.room, uri):
            raise WireError(INVALID_PARAMS, _NEEDS_APPROVAL, {"uri": uri, "code": "not_permitted"})
        if reason := self.denial_reason(ask.caller, ask.peer.room, uri):
            raise WireError(_missing_code(ask.era), reason, {"uri": uri, "code": "not_found"})

    async def authorize_subscription(self, ask: McpRequest, uri: str) -> None:
        """Let the gate decide and record a subscription to another server's resource.

        It counts as a call of the command that reads the resource, with all rules of that command.
        """
        if unwrap_uri(uri) is None:
            return
        command = self._find_command(ask.caller, uri)
        if command is None:
            raise self._missing_error(ask, uri)
        outcome = await ask.run_command(command, {"uri": uri, "follow": True})
        if outcome.status != "done":
            raise protocol_error(ask.era, outcome, uri)

    def needs_approval(self, caller: Caller, room: str, uri: str) -> bool:
        """Whether each read of another server's resource waits for approval. Then there is no subscription either,
        because the URI alone would tell that server something."""
        command = self._find_command(caller, uri) if unwrap_uri(uri) is not None else None
        if command is None:
            return False
        found, policy = self._services.registry[command], self._offers.get(caller, room).policy
        return (found.asks_first and caller.kind != "human") or (
            policy is not None and policy.approval_terms(found) is not None
        )

    def denial_reason(self, caller: Caller, room: str, uri: str) -> str:
        """Why the gate does not let this caller read the resource from this room; empty if it does."""
        command = self._find_command(caller, uri)
        if command is None:
            return "" if unwrap_uri(uri) is None else "The server no longer has it."
        ruling = self._services.get_ruling(caller, room, self._services.registry[command])
        if not ruling.allowed:
            return ruling.reason
        if self.needs_approval(caller, room, uri):
            return _NEEDS_APPROVAL
        messages = MESSAGES_PATTERN.fullmatch(uri)
        if messages is None:
            return ""
        found = self._services.rooms.get(caller.tenant, messages[1])
        if found is None or not found.is_visible_to(caller):
            return f"There is no room {messages[1]!r} that you are a member of."
        return ""

    async def _read_contents(self, ask: McpRequest, uri: str) -> ResourceContents:
        if resource_uris.command_for(uri) is None:
            raise _unknown_error(ask.era, uri)
        if uri == LEDGER_URI:
            own = {"caller": ask.caller.id, "kind": ask.caller.kind, "onBehalfOf": ask.caller.on_behalf_of}
            params = {"collection": "audit", "filter": own, "orderBy": "-id", "limit": MAX_ITEMS}
            return await _read_items(ask, uri, "data/list", params)
        messages = MESSAGES_PATTERN.fullmatch(uri)
        if messages is not None:
            return await _read_items(ask, uri, "room/messages", {"name": messages[1], "limit": MAX_ITEMS})
        try:
            path = unquote(uri[len(FILES_URI) :], errors="strict")
        except UnicodeDecodeError as error:
            raise _unknown_error(ask.era, uri) from error
        if not path or path.endswith("/"):
            return await _read_folder(ask, uri, path)
        return await _read_file(ask, uri, path)


async def _read_items(ask: McpRequest, uri: str, command: str, params: Mapping[str, Any]) -> ResourceContents:
    return _json_contents(uri, _require_done(ask, await ask.run_command(command, params), uri)["items"])


async def _read_folder(ask: McpRequest, uri: str, path: str) -> ResourceContents:
    outcome = await ask.run_command("file/list", {"path": path.rstrip("/") or "."})
    return _json_contents(uri, [resource_uris.add_uri(item) for item in _require_done(ask, outcome, uri)["items"]])


async def _read_file(ask: McpRequest, uri: str, path: str) -> ResourceContents:
    """A text file as text, any other file as bytes."""
    kind = mimetypes.guess_type(path)[0]
    if kind in _TEXT_TYPES or str(kind).startswith("text/"):
        outcome = await ask.run_command("file/read", {"path": path, "limit": 1_000_000})
        if outcome.code != "bad_params":
            found = _require_done(ask, outcome, uri)
            return ResourceContents(uri=uri, mime_type=kind or "text/plain", text=found["content"])
    outcome = await ask.run_command("file/read", {"path": path, "encoding": "base64"})
    found = _require_done(ask, outcome, uri)
    return ResourceContents(uri=uri, mime_type=kind or "application/octet-stream", blob=found["content"])


def _require_done(ask: McpRequest, outcome: Outcome, uri: str) -> dict[str, Any]:
    if outcome.status != "done":
        raise protocol_error(ask.era, outcome, uri)
    result: dict[str, Any] = outcome.result
    return result


def _json_contents(uri: str, items: Sequence[Any]) -> ResourceContents:
    return ResourceContents(uri=uri, mime_type=JSON, text=msgspec.json.format(_encode(items), indent=2).decode())


def _uri(one: Any) -> str:
    return str(one["uri"] if isinstance(one, dict) else one.uri)


def _template(one: Any) -> str:
    return str(one["uriTemplate"] if isinstance(one, dict) else one.uri_template)


def _unknown_error(era: Era, uri: str) -> WireError:
    return WireError(
        _missing_code(era),
        f"There is no resource {uri[:200]!r}; valid: {FILES_URI}PATH, {ROOM_TEMPLATE}, {LEDGER_URI} and"
        " mcp://SERVER/ADDRESS as other servers list it.",
        {"uri": uri[: resource_uris.MAX_URI_LENGTH]},
    )


def _missing_code(era: Era) -> int:
    return RESOURCE_NOT_FOUND if era is Era.SESSIONS else INVALID_PARAMS
