"""The method dispatcher: maps each MCP method to its handler, per era. It knows no transport."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from doorward.commands.context import Services
from doorward.core.errors import DEFECT, DoorwardError, NotAuthenticated, NotPermitted, TooFast
from doorward.core.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, SUPPORTED
from doorward.core.wire.frames import WireError
from doorward.core.wire.meta import LOG_LEVELS
from doorward.doors.mcp import encoding, results
from doorward.doors.mcp.approval_flow import ApprovalFlow
from doorward.doors.mcp.completion import Completion
from doorward.doors.mcp.offers import OfferCache
from doorward.doors.mcp.prompts import OWN_NAMES, Prompts
from doorward.doors.mcp.request import McpRequest
from doorward.doors.mcp.resources import Resources
from doorward.doors.mcp.subscriptions import Subscriptions
from doorward.doors.mcp.tools import ToolsList, build_instructions
from doorward.doors.mcp.tools_call import ToolsCall
from doorward.doors.mcp.upstream_lists import UpstreamLists
from doorward.doors.mcp.versions import Era, negotiate_version
from doorward.gate.gate import Gate

log = logging.getLogger(__name__)

Handler = Callable[[McpRequest], Awaitable[bytes]]

MAX_CAPABILITIES_BYTES = 16_384
"""Most bytes of a client's capabilities, because a session keeps them."""
_encode = msgspec.json.Encoder().encode

_COMMON_CAPABILITIES: dict[str, Any] = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
}


_ROOM_METHODS = frozenset(
    {"tools/list", "resources/list", "resources/templates/list", "prompts/list", "prompts/get", "completion/complete"}
)
"""Methods that show what a room offers without a call through the gate."""


class McpDispatcher:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._offers = offers = OfferCache(services)
        self._tools = tools = ToolsList(services, offers)
        carrying = ApprovalFlow(gate, services)
        aggregated = UpstreamLists(services, OWN_NAMES)
        prompts = Prompts(services, offers, aggregated, carrying)
        resources = Resources(services, offers, aggregated, carrying)
        self.subscriptions = Subscriptions(gate, services, offers, resources, aggregated)
        calling = ToolsCall(carrying)
        completion = Completion(prompts, offers, aggregated)
        common: dict[str, Handler] = {
            "tools/call": calling.call,
            "tools/list": tools.list_tools,
            "resources/list": resources.list_resources,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "prompts/list": prompts.list_prompts,
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

    async def dispatch(self, ask: McpRequest) -> bytes:
        """The result of a request; every failure is a WireError, or a refusal of invalid credentials."""
        handler = self._handlers[ask.era].get(ask.method)
        if handler is None:
            raise WireError(METHOD_NOT_FOUND, self._describe_unknown(ask))
        try:
            if ask.method in _ROOM_METHODS:
                self._check_room(ask)
            return await handler(ask)
        except (WireError, NotAuthenticated, TooFast):
            raise
        except DoorwardError as error:
            raise results.refusal(error) from error
        except Exception as error:
            log.exception("a request failed: %s", ask.method)
            raise WireError(INTERNAL_ERROR, DEFECT) from error

    def _describe_unknown(self, ask: McpRequest) -> str:
        valid = ", ".join(sorted(self._handlers[ask.era]))
        return f"Unknown method {ask.method[:80]!r} in this version of the protocol; valid: {valid}."

    async def _initialize(self, ask: McpRequest) -> bytes:
        peer, params = ask.peer, ask.params
        if peer.version:
            raise WireError(INVALID_PARAMS, "initialize: this session is already initialized.")
        capabilities, client = params.get("capabilities", {}), params.get("clientInfo", {})
        if not isinstance(capabilities, dict) or not isinstance(client, dict):
            raise WireError(INVALID_PARAMS, "initialize: `capabilities` and `clientInfo` must be objects.")
        if not isinstance(params.get("protocolVersion"), str):
            raise WireError(INVALID_PARAMS, "initialize: `protocolVersion` is required and must be a string.")
        if len(_encode(capabilities)) > MAX_CAPABILITIES_BYTES:
            raise WireError(
                INVALID_PARAMS, f"initialize: `capabilities` can have at most {MAX_CAPABILITIES_BYTES} bytes."
            )
        told = self._build_instructions(ask)
        peer.version = negotiate_version(params["protocolVersion"])
        peer.capabilities = capabilities
        self.subscriptions.add_session(ask)
        return encoding.encode_result(
            ask.era,
            {
                "protocolVersion": peer.version,
                "capabilities": _COMMON_CAPABILITIES,
                "serverInfo": encoding.SERVER,
                "instructions": told,
            },
        )

    async def _discover(self, ask: McpRequest) -> bytes:
        told = self._build_instructions(ask)
        return encoding.encode_cacheable(
            ask.era,
            {
                "supportedVersions": SUPPORTED,
                "capabilities": _COMMON_CAPABILITIES,
                "instructions": told,
            },
            self._offers.cache_ms,
        )

    async def _ping(self, ask: McpRequest) -> bytes:
        return b"{}"

    async def _set_level(self, ask: McpRequest) -> bytes:
        level = ask.params.get("level")
        if level not in LOG_LEVELS:
            raise WireError(INVALID_PARAMS, f"logging/setLevel: `level` must be one of {', '.join(LOG_LEVELS)}.")
        ask.peer.level = level
        return b"{}"

    def _build_instructions(self, ask: McpRequest) -> str:
        """The server instructions. Refuses the client at once if the caller cannot enter the room."""
        self._check_room(ask)
        return build_instructions(self._tools, self._offers.get(ask.caller, ask.peer.room), ask)

    def _check_room(self, ask: McpRequest) -> None:
        """Refuse a room that the caller cannot enter with the gate's own error: an empty list would hide the reason."""
        try:
            self._gate.enter(ask.caller, ask.peer.room)
        except NotPermitted as error:
            about = {"code": error.code, "rule": error.rule}
            raise WireError(INVALID_PARAMS, error.message, about) from error
