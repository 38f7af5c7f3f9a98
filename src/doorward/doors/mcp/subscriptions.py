"""Notifications for clients: lists and resources that changed.

A client's credential is checked again before anything is sent, and at intervals: tokens are revoked, and people leave
rooms, while a client listens.
"""

from __future__ import annotations

import contextlib
from typing import Any

from doorward.commands.context import Services
from doorward.core.errors import NotAuthenticated
from doorward.core.events import (
    CatalogueLoaded,
    CommandExecuted,
    MessageChanged,
    MessageReceived,
    RecipeLoaded,
    UpstreamOffered,
)
from doorward.core.model import Caller
from doorward.core.wire import frames
from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError
from doorward.core.wire.ids import Id
from doorward.core.wire.meta import LOG_LEVELS, SUBSCRIPTION, LogLevel
from doorward.doors.mcp import encoding, resource_uris
from doorward.doors.mcp.offers import OfferCache
from doorward.doors.mcp.peer import Outbox, Peer
from doorward.doors.mcp.prompts import own_prompts
from doorward.doors.mcp.request import McpRequest
from doorward.doors.mcp.resource_uris import FILES_URI, LEDGER_URI, messages_uri
from doorward.doors.mcp.resources import Resources
from doorward.doors.mcp.upstream_lists import UpstreamLists
from doorward.doors.mcp.upstream_subscriptions import UpstreamSubscriptions
from doorward.gate.gate import Gate

MAX_URIS = 100
"""Most resources that one client can subscribe to."""

MAX_URI_LENGTH = 1_024

_LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
_OFFER_CHANGING = ("room/", "recipe/", "undo", "user/")
"""Commands that can change what a caller is offered."""


class Subscriber:
    """One client with subscriptions: its lists, its resources, and the last known state of the lists."""

    __slots__ = ("_level", "_offers", "caller", "id", "lists", "outbox", "peer", "uris")

    def __init__(self, ask: McpRequest, lists: frozenset[str], uris: set[str], outbox: Outbox, id: Id | None) -> None:
        self.caller = ask.caller
        """The caller as the gate last identified it."""
        self.peer = ask.peer
        self.lists = lists
        self.uris = uris
        self.outbox = outbox
        self.id = id
        """The request whose answer carries the notifications (stateless era); None in the session era."""
        self._level = ask.log_level
        self._offers: dict[str, Any] = {}

    @property
    def log_level(self) -> LogLevel | None:
        """The lowest log level that it wants. A session can change it at any time."""
        return self._level if self.id is not None else self.peer.level or self._level

    def differs(self, kind: str, offer: Any) -> bool:
        """Whether the list differs from the last one."""
        before = self._offers.get(kind)
        self._offers[kind] = offer
        return before is not None and before != offer

    def notify_list(self, kind: str) -> None:
        if kind in self.lists:
            self._queue(kind, f"notifications/{kind}/list_changed", {})

    def notify_resource(self, uri: str) -> None:
        if uri in self.uris:
            self._queue(uri, "notifications/resources/updated", {"uri": uri})

    def warn(self, about: str, text: str) -> None:
        """Warn that notifications about something have ended."""
        if (frame := warning_frame(self.log_level, text)) is not None:
            self.outbox.put(f"warning {about}", frame)

    def _queue(self, about: str, method: str, params: dict[str, Any]) -> None:
        if self.id is not None:
            params = {**params, "_meta": {SUBSCRIPTION: self.id}}
        self.outbox.put(about, frames.notification(method, params or None))


class Subscriptions:
    def __init__(
        self, gate: Gate, services: Services, offers: OfferCache, resources: Resources, aggregated: UpstreamLists
    ) -> None:
        self._gate = gate
        self._registry = services.registry
        self._recheck = services.settings.mcp.keep_alive_seconds
        self._offers = offers
        self._resources = resources
        self._upstream_lists = aggregated
        self._listeners: dict[int, Subscriber] = {}
        self._upstream = UpstreamSubscriptions(services, self._handle_upstream_update)
        services.events.subscribe(self._handle_event)

    def close(self) -> None:
        """End all HTTP streams that only listen."""
        for listener in self._listeners.values():
            if listener.peer.transport == "http":
                listener.outbox.close()

    def add_session(self, ask: McpRequest) -> None:
        """Subscribe a session to all lists from its handshake on, and to the resources that it names later."""
        peer = ask.peer
        peer.outbox = Outbox()
        self._add(Subscriber(ask, frozenset(_LISTS), peer.subscribed, peer.outbox, None))

    def remove_session(self, peer: Peer) -> None:
        """Remove a session."""
        if peer.outbox is not None:
            self._forget(peer.outbox)
            peer.outbox.close()

    async def subscribe(self, ask: McpRequest) -> bytes:
        uri, subscribed = self._check_subscribable(ask, ask.require_string("uri")), ask.peer.subscribed
        if uri not in subscribed:
            _check_limit(subscribed)
            await self._resources.authorize_subscription(ask, uri)
            _check_limit(subscribed)
            subscribed.add(uri)
            self._sync_upstream()
        return b"{}"

    async def unsubscribe(self, ask: McpRequest) -> bytes:
        ask.peer.subscribed.discard(ask.require_string("uri"))
        self._sync_upstream()
        return b"{}"

    async def listen(self, ask: McpRequest) -> bytes:
        """subscriptions/listen: the answer is a stream that ends when the client disconnects or the server stops."""
        lists, wanted = self._parse_listen(ask)
        outbox = Outbox()
        about = {SUBSCRIPTION: ask.id}
        await ask.channel.begin()
        uris = {uri for uri in wanted if await self._can_follow(ask, uri)}
        listener = Subscriber(ask, lists, uris, outbox, ask.id)
        agreed: dict[str, Any] = {_LISTS[kind]: True for kind in sorted(lists)}
        if uris:
            agreed["resourceSubscriptions"] = sorted(uris)
        await ask.notify("notifications/subscriptions/acknowledged", {"_meta": about, "notifications": agreed})
        self._add(listener)
        try:
            while ask.channel.open and (news := await self.next_frames(outbox)) is not None:
                for frame in news:
                    await ask.channel.send(frame)
        finally:
            self._forget(outbox)
        return encoding.encode_result(ask.era, {}, meta=about)

    async def next_frames(self, outbox: Outbox) -> list[bytes] | None:
        """The next notifications for the client of this outbox; None at the end. NotAuthenticated once its credential
        is not valid: it is checked before anything is sent, and at every keep-alive interval."""
        listener = self._listeners.get(id(outbox))
        while listener is not None:
            waiting = await outbox.take(self._recheck)
            caller = self._refresh_caller(listener)
            if waiting is None:
                return None
            told = [frame for about, frame in waiting.items() if self._may_still_read(listener, caller, about)]
            if told:
                return told
        return None

    def _refresh_caller(self, listener: Subscriber) -> Caller:
        """The listener's caller, identified again."""
        try:
            listener.caller = self._gate.caller(listener.peer.credential)
        except NotAuthenticated:
            self._forget(listener.outbox)
            listener.outbox.close()
            raise
        return listener.caller

    def _may_still_read(self, listener: Subscriber, caller: Caller, about: str) -> bool:
        """Whether the caller may still read this. If not, its subscription ends."""
        if about not in listener.uris:
            return True
        reason = self._resources.denial_reason(caller, listener.peer.room, about)
        if reason:
            listener.uris.discard(about)
            self._sync_upstream()
            listener.warn(about, f"The subscription to {about} has ended: {reason}")
        return not reason

    def _end_approval_bound(self, listener: Subscriber) -> None:
        """End subscriptions to resources of other servers that the client may by now read only with approval."""
        caller, room = listener.caller, listener.peer.room
        for uri in [one for one in listener.uris if self._resources.needs_approval(caller, room, one)]:
            self._may_still_read(listener, caller, uri)

    def _parse_listen(self, ask: McpRequest) -> tuple[frozenset[str], set[str]]:
        wanted = ask.params.get("notifications")
        if not isinstance(wanted, dict):
            raise WireError(INVALID_PARAMS, "subscriptions/listen: `notifications` is required and must be an object.")
        uris = wanted.get("resourceSubscriptions", [])
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris) or len(uris) > MAX_URIS:
            raise WireError(
                INVALID_PARAMS,
                f"subscriptions/listen: `resourceSubscriptions` must be a list of at most {MAX_URIS} URIs.",
            )
        lists = frozenset(kind for kind, key in _LISTS.items() if wanted.get(key) is True)
        return lists, {uri for uri in uris if self._is_subscribable(ask, uri)}

    def _is_subscribable(self, ask: McpRequest, uri: str) -> bool:
        try:
            self._check_subscribable(ask, uri)
        except WireError:
            return False
        return True

    async def _can_follow(self, ask: McpRequest, uri: str) -> bool:
        try:
            await self._resources.authorize_subscription(ask, uri)
        except WireError:
            return False
        return True

    def _check_subscribable(self, ask: McpRequest, uri: str) -> str:
        if len(uri) > MAX_URI_LENGTH:
            raise WireError(INVALID_PARAMS, f"A URI to subscribe to can have at most {MAX_URI_LENGTH} characters.")
        self._resources.check_readable(ask, uri)
        return uri

    def _add(self, listener: Subscriber) -> None:
        self._notify_changes(listener)
        self._listeners[id(listener.outbox)] = listener
        if listener.uris:
            self._sync_upstream()

    def _forget(self, outbox: Outbox) -> None:
        listener = self._listeners.pop(id(outbox), None)
        if listener is not None and listener.uris:
            self._sync_upstream()

    def _sync_upstream(self) -> None:
        """Subscribe at other servers to exactly the resources that clients here subscribe to."""
        self._upstream.set_uris(uri for listener in self._listeners.values() for uri in listener.uris)

    def _handle_upstream_update(self, uri: str) -> None:
        """Notify of a change at another server. Before anything is sent, the caller's right to read it is checked."""
        for listener in self._listeners.values():
            listener.notify_resource(uri)

    def _notify_changes(self, listener: Subscriber) -> None:
        """Notify the listener of lists that changed."""
        offer = self._offers.get(listener.caller, listener.peer.room)
        others = self._upstream_lists
        lists = {
            "tools": offer.fingerprint,
            "prompts": (own_prompts(offer), others.prompts(offer)),
            "resources": (resource_uris.list_resources(offer), others.resources(offer), others.templates(offer)),
        }
        for kind in listener.lists:
            if listener.differs(kind, lists[kind]):
                listener.notify_list(kind)

    def _refresh_and_notify(self, listener: Subscriber) -> None:
        """The same with the caller identified again; nothing happens if its credential is no longer valid."""
        with contextlib.suppress(NotAuthenticated):
            self._refresh_caller(listener)
            self._notify_changes(listener)

    def _handle_event(self, event: Any) -> None:
        if not self._listeners:
            return
        if isinstance(event, CommandExecuted):
            self._handle_executed(event)
        elif isinstance(event, MessageReceived | MessageChanged):
            uri = messages_uri(event.room)
            for listener in self._find_subscribers(event.tenant):
                listener.notify_resource(uri)
        elif isinstance(event, RecipeLoaded | CatalogueLoaded | UpstreamOffered):
            for listener in list(self._listeners.values()):
                self._refresh_and_notify(listener)
                self._end_approval_bound(listener)
            if isinstance(event, UpstreamOffered):
                self._sync_upstream()

    def _handle_executed(self, event: CommandExecuted) -> None:
        changing = event.command.startswith(_OFFER_CHANGING) and event.status == "done"
        writing = event.command in self._registry and not self._registry[event.command].reads_only
        for listener in self._find_subscribers(event.tenant):
            if changing:
                self._refresh_and_notify(listener)
            if event.caller == listener.caller.id and (not event.room or listener.caller.covers_room(event.room)):
                listener.notify_resource(LEDGER_URI)
            if writing and event.status in ("done", "failed"):
                for uri in listener.uris:
                    if uri.startswith(FILES_URI):
                        listener.notify_resource(uri)

    def _find_subscribers(self, tenant: str) -> list[Subscriber]:
        return [listener for listener in self._listeners.values() if listener.caller.tenant == tenant]


def _check_limit(subscribed: set[str]) -> None:
    if len(subscribed) >= MAX_URIS:
        raise WireError(INVALID_PARAMS, f"A client can subscribe to at most {MAX_URIS} resources; unsubscribe first.")


def warning_frame(level: LogLevel | None, text: str) -> bytes | None:
    """A warning as a log message; None if a client with this level does not want warnings."""
    if level is None or LOG_LEVELS.index("warning") < LOG_LEVELS.index(level):
        return None
    return frames.notification("notifications/message", {"level": "warning", "logger": "doorward", "data": text})
