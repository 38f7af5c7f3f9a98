"""Notifications for clients: lists and resources that changed.

A client's credential is checked again before anything is sent, and at intervals: tokens are revoked, and people leave
rooms, while a client listens.
"""

from __future__ import annotations

import contextlib
from typing import Any

from doorward.backends.context import Services
from doorward.doors.mcp import addresses, answers
from doorward.doors.mcp.addresses import FILES, LEDGER, messages_uri
from doorward.doors.mcp.aggregated import Aggregated
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.following import Following
from doorward.doors.mcp.offers import Offers
from doorward.doors.mcp.outbox import Outbox
from doorward.doors.mcp.peer import Peer
from doorward.doors.mcp.prompts import ours
from doorward.doors.mcp.resources import Resources
from doorward.errors import NotAuthenticated
from doorward.events import (
    CatalogueLoaded,
    CommandExecuted,
    MessageChanged,
    MessageReceived,
    RecipeLoaded,
    UpstreamOffered,
)
from doorward.gate.gate import Gate
from doorward.model import Caller
from doorward.wire import frames
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError
from doorward.wire.ids import Id
from doorward.wire.meta import LEVELS, SUBSCRIPTION, Level

MOST_URIS = 100
"""Most resources that one client can subscribe to."""

LONGEST_URI = 1_024

_LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
_CHANGING = ("room/", "recipe/", "undo", "user/")
"""Commands that can change what a caller is offered."""


class Listener:
    """One client with subscriptions: its lists, its resources, and the last known state of the lists."""

    __slots__ = ("_level", "_offers", "caller", "id", "lists", "outbox", "peer", "uris")

    def __init__(self, ask: Ask, lists: frozenset[str], uris: set[str], outbox: Outbox, id: Id | None) -> None:
        self.caller = ask.caller
        """The caller as the gate last identified it."""
        self.peer = ask.peer
        self.lists = lists
        self.uris = uris
        self.outbox = outbox
        self.id = id
        """The request whose answer carries the notifications (stateless era); None in the session era."""
        self._level = ask.level
        self._offers: dict[str, Any] = {}

    @property
    def level(self) -> Level | None:
        """The lowest log level that it wants. A session can change it at any time."""
        return self._level if self.id is not None else self.peer.level or self._level

    def differs(self, kind: str, offer: Any) -> bool:
        """Whether the list differs from the last one."""
        before = self._offers.get(kind)
        self._offers[kind] = offer
        return before is not None and before != offer

    def tell(self, kind: str) -> None:
        if kind in self.lists:
            self._put(kind, f"notifications/{kind}/list_changed", {})

    def tell_of(self, uri: str) -> None:
        if uri in self.uris:
            self._put(uri, "notifications/resources/updated", {"uri": uri})

    def warn(self, about: str, text: str) -> None:
        """Warn that notifications about something have ended."""
        if (frame := warning(self.level, text)) is not None:
            self.outbox.put(f"warning {about}", frame)

    def _put(self, about: str, method: str, params: dict[str, Any]) -> None:
        if self.id is not None:
            params = {**params, "_meta": {SUBSCRIPTION: self.id}}
        self.outbox.put(about, frames.notification(method, params or None))


class Subscriptions:
    def __init__(
        self, gate: Gate, services: Services, offers: Offers, resources: Resources, aggregated: Aggregated
    ) -> None:
        self._gate = gate
        self._registry = services.registry
        self._recheck = services.settings.mcp.keep_alive_seconds
        self._offers = offers
        self._resources = resources
        self._aggregated = aggregated
        self._listeners: dict[int, Listener] = {}
        self._following = Following(services, self._updated)
        services.events.subscribe(self._observe)

    def close(self) -> None:
        """End all HTTP streams that only listen."""
        for listener in self._listeners.values():
            if listener.peer.transport == "http":
                listener.outbox.close()

    def announce(self, kind: str) -> None:
        """Notify all clients that a list changed, for a reason without an event."""
        self._offers.changed()
        for listener in self._listeners.values():
            listener.tell(kind)

    def open(self, ask: Ask) -> None:
        """Subscribe a session to all lists from its handshake on, and to the resources that it names later."""
        peer = ask.peer
        peer.outbox = Outbox()
        self._add(Listener(ask, frozenset(_LISTS), peer.subscribed, peer.outbox, None))

    def leave(self, peer: Peer) -> None:
        """Remove a session."""
        if peer.outbox is not None:
            self._forget(peer.outbox)
            peer.outbox.close()

    async def subscribe(self, ask: Ask) -> bytes:
        uri, subscribed = self._subscribable(ask, ask.text("uri")), ask.peer.subscribed
        if uri not in subscribed:
            _limited(subscribed)
            await self._resources.follow(ask, uri)
            _limited(subscribed)
            subscribed.add(uri)
            self._follow()
        return b"{}"

    async def unsubscribe(self, ask: Ask) -> bytes:
        ask.peer.subscribed.discard(ask.text("uri"))
        self._follow()
        return b"{}"

    async def listen(self, ask: Ask) -> bytes:
        """subscriptions/listen: the answer is a stream that ends when the client disconnects or the server stops."""
        lists, wanted = self._wanted(ask)
        outbox = Outbox()
        about = {SUBSCRIPTION: ask.id}
        await ask.channel.begin()
        uris = {uri for uri in wanted if await self._may_follow(ask, uri)}
        listener = Listener(ask, lists, uris, outbox, ask.id)
        agreed: dict[str, Any] = {_LISTS[kind]: True for kind in sorted(lists)}
        if uris:
            agreed["resourceSubscriptions"] = sorted(uris)
        await ask.notify("notifications/subscriptions/acknowledged", {"_meta": about, "notifications": agreed})
        self._add(listener)
        try:
            while ask.channel.open and (news := await self.news(outbox)) is not None:
                for frame in news:
                    await ask.channel.send(frame)
        finally:
            self._forget(outbox)
        return answers.result(ask.era, {}, meta=about)

    async def news(self, outbox: Outbox) -> list[bytes] | None:
        """The next notifications for the client of this outbox; None at the end. NotAuthenticated once its credential
        is not valid: it is checked before anything is sent, and at every keep-alive interval."""
        listener = self._listeners.get(id(outbox))
        while listener is not None:
            waiting = await outbox.take(self._recheck)
            caller = self._checked(listener)
            if waiting is None:
                return None
            told = [frame for about, frame in waiting.items() if self._may_hear(listener, caller, about)]
            if told:
                return told
        return None

    def _checked(self, listener: Listener) -> Caller:
        """The listener's caller, identified again."""
        try:
            listener.caller = self._gate.caller(listener.peer.credential)
        except NotAuthenticated:
            self._forget(listener.outbox)
            listener.outbox.close()
            raise
        return listener.caller

    def _may_hear(self, listener: Listener, caller: Caller, about: str) -> bool:
        """Whether the caller may still read this. If not, its subscription ends."""
        if about not in listener.uris:
            return True
        reason = self._resources.closed(caller, listener.peer.room, about)
        if reason:
            listener.uris.discard(about)
            self._follow()
            listener.warn(about, f"The subscription to {about} has ended: {reason}")
        return not reason

    def _reconsider(self, listener: Listener) -> None:
        """End subscriptions to resources of other servers that the client may by now read only with approval."""
        caller, room = listener.caller, listener.peer.room
        for uri in [one for one in listener.uris if self._resources.waits(caller, room, one)]:
            self._may_hear(listener, caller, uri)

    def _wanted(self, ask: Ask) -> tuple[frozenset[str], set[str]]:
        wanted = ask.params.get("notifications")
        if not isinstance(wanted, dict):
            raise WireError(INVALID_PARAMS, "subscriptions/listen: `notifications` is required and must be an object.")
        uris = wanted.get("resourceSubscriptions", [])
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris) or len(uris) > MOST_URIS:
            raise WireError(
                INVALID_PARAMS,
                f"subscriptions/listen: `resourceSubscriptions` must be a list of at most {MOST_URIS} URIs.",
            )
        lists = frozenset(kind for kind, key in _LISTS.items() if wanted.get(key) is True)
        return lists, {uri for uri in uris if self._is_subscribable(ask, uri)}

    def _is_subscribable(self, ask: Ask, uri: str) -> bool:
        try:
            self._subscribable(ask, uri)
        except WireError:
            return False
        return True

    async def _may_follow(self, ask: Ask, uri: str) -> bool:
        try:
            await self._resources.follow(ask, uri)
        except WireError:
            return False
        return True

    def _subscribable(self, ask: Ask, uri: str) -> str:
        if len(uri) > LONGEST_URI:
            raise WireError(INVALID_PARAMS, f"A URI to subscribe to can have at most {LONGEST_URI} characters.")
        self._resources.known(ask, uri)
        return uri

    def _add(self, listener: Listener) -> None:
        self._compare(listener)
        self._listeners[id(listener.outbox)] = listener
        if listener.uris:
            self._follow()

    def _forget(self, outbox: Outbox) -> None:
        listener = self._listeners.pop(id(outbox), None)
        if listener is not None and listener.uris:
            self._follow()

    def _follow(self) -> None:
        """Subscribe at other servers to exactly the resources that clients here subscribe to."""
        self._following.want(uri for listener in self._listeners.values() for uri in listener.uris)

    def _updated(self, uri: str) -> None:
        """Notify of a change at another server. Before anything is sent, the caller's right to read it is checked."""
        for listener in self._listeners.values():
            listener.tell_of(uri)

    def _compare(self, listener: Listener) -> None:
        """Notify the listener of lists that changed."""
        offer = self._offers.of(listener.caller, listener.peer.room)
        others = self._aggregated
        lists = {
            "tools": offer.names,
            "prompts": (ours(offer), others.prompts(offer)),
            "resources": (addresses.resources(offer), others.resources(offer), others.templates(offer)),
        }
        for kind in listener.lists:
            if listener.differs(kind, lists[kind]):
                listener.tell(kind)

    def _compare_anew(self, listener: Listener) -> None:
        """The same with the caller identified again; nothing happens if its credential is no longer valid."""
        with contextlib.suppress(NotAuthenticated):
            self._checked(listener)
            self._compare(listener)

    def _observe(self, event: Any) -> None:
        if not self._listeners:
            return
        if isinstance(event, CommandExecuted):
            self._executed(event)
        elif isinstance(event, MessageReceived | MessageChanged):
            uri = messages_uri(event.room)
            for listener in self._of(event.tenant):
                listener.tell_of(uri)
        elif isinstance(event, RecipeLoaded | CatalogueLoaded | UpstreamOffered):
            for listener in list(self._listeners.values()):
                self._compare_anew(listener)
                self._reconsider(listener)
            if isinstance(event, UpstreamOffered):
                self._follow()

    def _executed(self, event: CommandExecuted) -> None:
        changing = event.command.startswith(_CHANGING) and event.status == "done"
        writing = event.command in self._registry and not self._registry[event.command].reads_only
        for listener in self._of(event.tenant):
            if changing:
                self._compare_anew(listener)
            if event.caller == listener.caller.id and (not event.room or listener.caller.reaches(event.room)):
                listener.tell_of(LEDGER)
            if writing and event.status in ("done", "failed"):
                for uri in listener.uris:
                    if uri.startswith(FILES):
                        listener.tell_of(uri)

    def _of(self, tenant: str) -> list[Listener]:
        return [listener for listener in self._listeners.values() if listener.caller.tenant == tenant]


def _limited(subscribed: set[str]) -> None:
    if len(subscribed) >= MOST_URIS:
        raise WireError(INVALID_PARAMS, f"A client can subscribe to at most {MOST_URIS} resources; unsubscribe first.")


def warning(level: Level | None, text: str) -> bytes | None:
    """A warning as a log message; None if a client with this level does not want warnings."""
    if level is None or LEVELS.index("warning") < LEVELS.index(level):
        return None
    return frames.notification("notifications/message", {"level": "warning", "logger": "doorward", "data": text})
