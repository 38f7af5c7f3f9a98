"""The method dispatcher: maps each MCP method to its handler, per era. It knows no transport."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from doorward.backends.context import Services
from doorward.doors.mcp import answers, results
from doorward.doors.mcp.aggregated import Aggregated
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.calling import Calling
from doorward.doors.mcp.carrying import Carrying
from doorward.doors.mcp.completion import Completion
from doorward.doors.mcp.extras import Extras
from doorward.doors.mcp.instructions import instructions
from doorward.doors.mcp.offers import Offers
from doorward.doors.mcp.prompts import OWN, Prompts
from doorward.doors.mcp.resources import Resources
from doorward.doors.mcp.subscriptions import Subscriptions
from doorward.doors.mcp.tools import Tools
from doorward.doors.mcp.versions import Era, negotiated
from doorward.errors import DEFECT, DoorwardError, NotAuthenticated, NotPermitted
from doorward.gate.gate import Gate
from doorward.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, SUPPORTED
from doorward.wire.frames import WireError
from doorward.wire.meta import LEVELS

log = logging.getLogger(__name__)

Handler = Callable[[Ask], Awaitable[bytes]]

MOST_CAPABILITIES = 16_384
"""Most bytes of a client's capabilities, because a session keeps them."""
_encode = msgspec.json.Encoder().encode

_COMMON_CAPABILITIES: dict[str, Any] = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
}


_OF_THE_ROOM = frozenset(
    {"tools/list", "resources/list", "resources/templates/list", "prompts/list", "prompts/get", "completion/complete"}
)
"""Methods that show what a room offers without a call through the gate."""


class Engine:
    def __init__(self, gate: Gate, services: Services, extras: Extras) -> None:
        self._gate = gate
        self._offers = offers = Offers(services)
        self._tools = tools = Tools(services, offers, extras)
        carrying = Carrying(gate, services)
        aggregated = Aggregated(services, OWN)
        prompts = Prompts(services, offers, aggregated, carrying, extras)
        resources = Resources(services, offers, aggregated, carrying, extras)
        self.subscriptions = Subscriptions(gate, services, offers, resources, aggregated)
        calling = Calling(carrying, extras)
        completion = Completion(prompts, offers, aggregated, extras)
        common: dict[str, Handler] = {
            "tools/call": calling.call,
            "tools/list": tools.listed,
            "resources/list": resources.listed,
            "resources/templates/list": resources.templates,
            "resources/read": resources.read,
            "prompts/list": prompts.listed,
            "prompts/get": prompts.get,
            "completion/complete": completion.complete,
        }
        self._handlers: Mapping[Era, Mapping[str, Handler]] = {
            Era.SESSIONS: {
                **common,
                "initialize": self._initialize,
                "ping": self._ping,
                "logging/setLevel": self._set_level,
                "resources/subscribe": self.subscriptions.subscribe,
                "resources/unsubscribe": self.subscriptions.unsubscribe,
            },
            Era.STATELESS: {
                **common,
                "server/discover": self._discover,
                "subscriptions/listen": self.subscriptions.listen,
            },
        }

    async def answer(self, ask: Ask) -> bytes:
        """The result of a request; every failure is a WireError or NotAuthenticated."""
        handler = self._handlers[ask.era].get(ask.method)
        if handler is None:
            raise WireError(METHOD_NOT_FOUND, self._unknown(ask))
        try:
            if ask.method in _OF_THE_ROOM:
                self._enter(ask)
            return await handler(ask)
        except (WireError, NotAuthenticated):
            raise
        except DoorwardError as error:
            raise results.refusal(error) from error
        except Exception as error:
            log.exception("a request failed: %s", ask.method)
            raise WireError(INTERNAL_ERROR, DEFECT) from error

    def _unknown(self, ask: Ask) -> str:
        valid = ", ".join(sorted(self._handlers[ask.era]))
        return f"Unknown method {ask.method[:80]!r} in this version of the protocol; valid: {valid}."

    async def _initialize(self, ask: Ask) -> bytes:
        peer, params = ask.peer, ask.params
        if peer.version:
            raise WireError(INVALID_PARAMS, "initialize: this session is already initialized.")
        capabilities, client = params.get("capabilities", {}), params.get("clientInfo", {})
        if not isinstance(capabilities, dict) or not isinstance(client, dict):
            raise WireError(INVALID_PARAMS, "initialize: `capabilities` and `clientInfo` must be objects.")
        if not isinstance(params.get("protocolVersion"), str):
            raise WireError(INVALID_PARAMS, "initialize: `protocolVersion` is required and must be a string.")
        if len(_encode(capabilities)) > MOST_CAPABILITIES:
            raise WireError(INVALID_PARAMS, f"initialize: `capabilities` can have at most {MOST_CAPABILITIES} bytes.")
        told = self._introduction(ask)
        peer.version = negotiated(params["protocolVersion"])
        peer.capabilities = capabilities
        self.subscriptions.open(ask)
        return answers.result(
            ask.era,
            {
                "protocolVersion": peer.version,
                "capabilities": _COMMON_CAPABILITIES,
                "serverInfo": answers.SERVER,
                "instructions": told,
            },
        )

    async def _discover(self, ask: Ask) -> bytes:
        told = self._introduction(ask)
        return answers.cacheable(
            ask.era,
            {
                "supportedVersions": SUPPORTED,
                "capabilities": _COMMON_CAPABILITIES,
                "instructions": told,
            },
            self._offers.fresh_ms,
        )

    async def _ping(self, ask: Ask) -> bytes:
        return b"{}"

    async def _set_level(self, ask: Ask) -> bytes:
        level = ask.params.get("level")
        if level not in LEVELS:
            raise WireError(INVALID_PARAMS, f"logging/setLevel: `level` must be one of {', '.join(LEVELS)}.")
        ask.peer.level = level
        return b"{}"

    def _introduction(self, ask: Ask) -> str:
        """The server instructions. Refuses the client at once if the caller cannot enter the room."""
        self._enter(ask)
        return instructions(self._tools, self._offers.of(ask.caller, ask.peer.room), ask)

    def _enter(self, ask: Ask) -> None:
        """Refuse a room that the caller cannot enter with the gate's own error: an empty list would hide the reason."""
        try:
            self._gate.enter(ask.caller, ask.peer.room)
        except NotPermitted as error:
            about = {"code": error.code, "rule": error.rule}
            raise WireError(INVALID_PARAMS, error.message, about) from error
