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

from doorward.backends.context import Services
from doorward.doors.mcp import addresses, answers, paging
from doorward.doors.mcp.addresses import FILES, JSON, LEDGER, MESSAGES, ROOM_TEMPLATE, SHOWN
from doorward.doors.mcp.aggregated import Aggregated
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.carrying import Carrying
from doorward.doors.mcp.extras import Extras
from doorward.doors.mcp.offers import Offers
from doorward.doors.mcp.results import protocol_error
from doorward.doors.mcp.versions import Era
from doorward.model import Caller, Outcome
from doorward.rooms.people import LOCAL
from doorward.upstream.addressing import unwrapped
from doorward.wire.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from doorward.wire.frames import WireError
from doorward.wire.shapes import Contents, InputRequired

_TEXTS = frozenset({None, JSON, "application/xml", "application/javascript", "application/toml", "application/yaml"})
_LARGEST = 1_000_000
"""Most bytes of another server's resource, as encoded in a message."""
_WAITS = "Each read of this resource waits for a person's approval, so nobody can subscribe to it."
_encode = msgspec.json.Encoder().encode


class Resources:
    def __init__(
        self, services: Services, offers: Offers, aggregated: Aggregated, carrying: Carrying, extras: Extras
    ) -> None:
        self._services = services
        self._offers = offers
        self._aggregated = aggregated
        self._carrying = carrying
        self._extras = extras

    async def listed(self, ask: Ask) -> bytes:
        offer = self._offers.of(ask.caller, ask.peer.room)
        resources = [*addresses.resources(offer), *self._aggregated.resources(offer), *self._extras.resources]
        return self._page(ask, "resources", resources, _uri)

    async def templates(self, ask: Ask) -> bytes:
        offer = self._offers.of(ask.caller, ask.peer.room)
        templates = [*addresses.templates(offer), *self._aggregated.templates(offer), *self._extras.templates]
        return self._page(ask, "resourceTemplates", templates, _template)

    def _page(self, ask: Ask, kind: str, items: list[Any], key: Any) -> bytes:
        items.sort(key=key)
        after = paging.position(kind, ask.params.get("cursor"))
        shown, cursor = paging.page(kind, items, key, after, self._services.settings.mcp.page)
        body: dict[str, Any] = {kind: shown}
        if cursor is not None:
            body["nextCursor"] = cursor
        return answers.cacheable(ask.era, body, self._offers.fresh_ms)

    async def read(self, ask: Ask) -> bytes:
        uri = ask.text("uri")
        if self._extras.resources or self._extras.templates:
            given = await self._extras.read(ask, uri)
            if isinstance(given, InputRequired):
                return answers.input_required(given)
            if given is not None:
                return answers.cacheable(ask.era, {"contents": given}, 0)
        if unwrapped(uri) is not None:
            return await self._of_a_server(ask, uri)
        contents = await self._contents(ask, uri)
        return answers.cacheable(ask.era, {"contents": [contents]}, 0)

    async def _of_a_server(self, ask: Ask, uri: str) -> bytes:
        """Read a resource of another MCP server with that server's command."""
        command = self._command(ask.caller, uri)
        if command is None:
            raise self._missing(ask, uri)
        outcome = await self._carrying.run(ask, ask.wants(command, {"uri": uri}))
        if isinstance(outcome, bytes):
            return outcome
        if outcome.status != "done":
            raise protocol_error(ask.era, outcome, uri)
        contents = _encode([block["resource"] for block in outcome.result.content])
        if len(contents) > _LARGEST:
            sentence = f"{uri[:200]} has {len(contents)} bytes; one message holds at most {_LARGEST}."
            raise WireError(INVALID_PARAMS, sentence, {"uri": uri, "call": outcome.call})
        return answers.cacheable(ask.era, {"contents": msgspec.Raw(contents)}, 0)

    def _command(self, caller: Caller, uri: str) -> str | None:
        """The command that reads this resource, if this caller has one."""
        name = addresses.command_for(uri)
        if name is None or name not in self._services.registry:
            return None
        return None if self._services.registry[name].private and caller.tenant != LOCAL else name

    def _missing(self, ask: Ask, uri: str) -> WireError:
        """The error for an unknown resource, which may belong to a server that is not connected."""
        name = addresses.command_for(uri)
        absent = self._services.absent(ask.caller, ask.peer.room, name) if name is not None else None
        if absent is None:
            return _unknown(ask.era, uri)
        told = {"uri": uri[: addresses.LONGEST], "retry": "later" if absent.retry_after else "after_fix"}
        return WireError(_missing(ask.era), f"There is no resource {uri[:200]!r} now. {absent.why}", told)

    def known(self, ask: Ask, uri: str) -> None:
        """Refuse a URI that is not a resource or that this caller may not read."""
        if any(one.uri == uri for one in self._extras.resources):
            return
        command = self._command(ask.caller, uri)
        if command is None:
            raise self._missing(ask, uri)
        ruling = self._services.rules_on(ask.caller, ask.peer.room, self._services.registry[command])
        if not ruling.allowed:
            raise WireError(INVALID_PARAMS, ruling.reason, {"uri": uri, "code": "not_permitted", "rule": ruling.rule})
        if self.waits(ask.caller, ask.peer.room, uri):
            raise WireError(INVALID_PARAMS, _WAITS, {"uri": uri, "code": "not_permitted"})
        if reason := self.closed(ask.caller, ask.peer.room, uri):
            raise WireError(_missing(ask.era), reason, {"uri": uri, "code": "not_found"})

    async def follow(self, ask: Ask, uri: str) -> None:
        """Let the gate decide and record a subscription to another server's resource.

        It counts as a call of the command that reads the resource, with all rules of that command.
        """
        if unwrapped(uri) is None:
            return
        command = self._command(ask.caller, uri)
        if command is None:
            raise self._missing(ask, uri)
        outcome = await ask.run(command, {"uri": uri, "follow": True})
        if outcome.status != "done":
            raise protocol_error(ask.era, outcome, uri)

    def waits(self, caller: Caller, room: str, uri: str) -> bool:
        """Whether each read of another server's resource waits for approval. Then there is no subscription either,
        because the URI alone would tell that server something."""
        command = self._command(caller, uri) if unwrapped(uri) is not None else None
        if command is None:
            return False
        found, policy = self._services.registry[command], self._offers.of(caller, room).policy
        return (found.asks_first and caller.kind != "human") or (
            policy is not None and policy.approval(found) is not None
        )

    def closed(self, caller: Caller, room: str, uri: str) -> str:
        """Why the gate does not let this caller read the resource from this room; empty if it does."""
        command = self._command(caller, uri)
        if command is None:
            return "" if unwrapped(uri) is None else "The server no longer has it."
        ruling = self._services.rules_on(caller, room, self._services.registry[command])
        if not ruling.allowed:
            return ruling.reason
        if self.waits(caller, room, uri):
            return _WAITS
        messages = MESSAGES.fullmatch(uri)
        if messages is None:
            return ""
        found = self._services.rooms.get(caller.tenant, messages[1])
        if found is None or not found.seen_by(caller):
            return f"There is no room {messages[1]!r} that you are a member of."
        return ""

    async def _contents(self, ask: Ask, uri: str) -> Contents:
        if addresses.command_for(uri) is None:
            raise _unknown(ask.era, uri)
        if uri == LEDGER:
            own = {"caller": ask.caller.id, "kind": ask.caller.kind, "onBehalfOf": ask.caller.on_behalf_of}
            params = {"collection": "audit", "filter": own, "orderBy": "-id", "limit": SHOWN}
            return await _items(ask, uri, "data/list", params)
        messages = MESSAGES.fullmatch(uri)
        if messages is not None:
            return await _items(ask, uri, "room/messages", {"name": messages[1], "limit": SHOWN})
        try:
            path = unquote(uri[len(FILES) :], errors="strict")
        except UnicodeDecodeError as error:
            raise _unknown(ask.era, uri) from error
        if not path or path.endswith("/"):
            return await _folder(ask, uri, path)
        return await _file(ask, uri, path)


async def _items(ask: Ask, uri: str, command: str, params: Mapping[str, Any]) -> Contents:
    return _json(uri, _done(ask, await ask.run(command, params), uri)["items"])


async def _folder(ask: Ask, uri: str, path: str) -> Contents:
    outcome = await ask.run("file/list", {"path": path.rstrip("/") or "."})
    return _json(uri, [addresses.addressed(item) for item in _done(ask, outcome, uri)["items"]])


async def _file(ask: Ask, uri: str, path: str) -> Contents:
    """A text file as text, any other file as bytes."""
    kind = mimetypes.guess_type(path)[0]
    if kind in _TEXTS or str(kind).startswith("text/"):
        outcome = await ask.run("file/read", {"path": path, "limit": 1_000_000})
        if outcome.code != "bad_params":
            found = _done(ask, outcome, uri)
            return Contents(uri=uri, mime_type=kind or "text/plain", text=found["content"])
    outcome = await ask.run("file/read", {"path": path, "encoding": "base64"})
    found = _done(ask, outcome, uri)
    return Contents(uri=uri, mime_type=kind or "application/octet-stream", blob=found["content"])


def _done(ask: Ask, outcome: Outcome, uri: str) -> dict[str, Any]:
    if outcome.status != "done":
        raise protocol_error(ask.era, outcome, uri)
    result: dict[str, Any] = outcome.result
    return result


def _json(uri: str, items: Sequence[Any]) -> Contents:
    return Contents(uri=uri, mime_type=JSON, text=msgspec.json.format(_encode(items), indent=2).decode())


def _uri(one: Any) -> str:
    return str(one["uri"] if isinstance(one, dict) else one.uri)


def _template(one: Any) -> str:
    return str(one["uriTemplate"] if isinstance(one, dict) else one.uri_template)


def _unknown(era: Era, uri: str) -> WireError:
    return WireError(
        _missing(era),
        f"There is no resource {uri[:200]!r}; valid: {FILES}PATH, {ROOM_TEMPLATE}, {LEDGER} and"
        " mcp://SERVER/ADDRESS as other servers list it.",
        {"uri": uri[: addresses.LONGEST]},
    )


def _missing(era: Era) -> int:
    return RESOURCE_NOT_FOUND if era is Era.SESSIONS else INVALID_PARAMS
