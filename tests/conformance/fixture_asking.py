"""The tools of the conformance suite that ask their client for something before they answer.

Up to 2025-11-25 a server asks with a request of its own. Since then it answers that input is required, and the client
asks again with what it found out and, unchanged, with the state that it was given.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fixture_pieces import says, tool

from doorward.core.clock import Clock
from doorward.core.wire.types import CallToolResult, InputRequiredResult
from doorward.doors.mcp.request import McpRequest, StateSealer

Answer = CallToolResult | InputRequiredResult
Arguments = Mapping[str, Any]
_CLOCK = Clock()
_GOOD_FOR = 60.0
_STATES = StateSealer(secrets.token_bytes(32), _CLOCK)


def elicitation(message: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
_CAPABILITY = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_PART = {"elicitation/create": "action", "sampling/createMessage": "content", "roots/list": "roots"}
"""What an answer to each of these must have to be one."""

NAME = elicitation("Whom shall we greet?", name={"type": "string"})
CONFIRMED = elicitation("Shall it go on?", ok={"type": "boolean"})
COLOUR = elicitation("Which colour shall it have?", color={"type": "string"})
CAPITAL = sampling("Name a city with a famous door.")

DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_PLAIN = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
CHOICES = {
    "untitledSingle": {"type": "string", "enum": _PLAIN},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


def seal(ask: McpRequest, what: str) -> str:
    """A state for this caller and this tool, made as the door makes its own."""
    return _STATES.seal(what, ask.caller, ask.require_string("name"), _CLOCK.now() + _GOOD_FOR)


def unsealed(ask: McpRequest) -> str:
    """What a state of ours says; empty for none, an error for any that is not ours."""
    return _STATES.open(ask.request_state, ask.caller, ask.require_string("name")) if ask.request_state else ""


def found(ask: McpRequest, requests: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """The client's answers to all of these, or None while one is missing or is none."""
    given = {}
    for key, request in requests.items():
        response = ask.input_responses.get(key)
        if not isinstance(response, dict) or _PART[request["method"]] not in response:
            return None
        given[key] = response
    return given


def asks(state: str = "", **requests: dict[str, Any]) -> Callable[[McpRequest, Arguments], Awaitable[Answer]]:
    """A tool that wants all of these found out, and then shows them."""

    async def call(ask: McpRequest, arguments: Arguments) -> Answer:
        for request in requests.values():
            ask.require_capability(_CAPABILITY[request["method"]])
        unsealed(ask)
        given = found(ask, requests)
        if given is None:
            return InputRequiredResult(input_requests=requests, request_state=seal(ask, state) if state else None)
        return says(f"{f'{state}-ok: ' if state else ''}{json.dumps(given)}")

    return call


async def _in_two_rounds(ask: McpRequest, arguments: Arguments) -> Answer:
    state = unsealed(ask)
    if state == "second" and found(ask, {"step2": COLOUR}):
        return says("Both steps are done.")
    if state == "first" and found(ask, {"step1": NAME}):
        return InputRequiredResult(input_requests={"step2": COLOUR}, request_state=seal(ask, "second"))
    return InputRequiredResult(input_requests={"step1": NAME}, request_state=seal(ask, "first"))


async def _what_the_client_can(ask: McpRequest, arguments: Arguments) -> Answer:
    everything = {"name": NAME, "capital": CAPITAL, "roots": ROOTS}
    able = {key: one for key, one in everything.items() if _CAPABILITY[one["method"]] in ask.capabilities}
    return InputRequiredResult(input_requests=able)


async def _at_once(ask: McpRequest, request: dict[str, Any]) -> Answer:
    """Ask with a request, in the middle of the call."""
    ask.require_capability(_CAPABILITY[request["method"]])
    return says(json.dumps(await ask.send_request(request["method"], request["params"])))


async def _sampling(ask: McpRequest, arguments: Arguments) -> Answer:
    return await _at_once(ask, sampling(arguments["prompt"]))


async def _elicitation(ask: McpRequest, arguments: Arguments) -> Answer:
    fields = {"username": {"type": "string"}, "email": {"type": "string"}}
    return await _at_once(ask, elicitation(arguments["message"], **fields))


async def _defaults(ask: McpRequest, arguments: Arguments) -> Answer:
    return await _at_once(ask, elicitation("Please check this.", **DEFAULTS))


async def _choices(ask: McpRequest, arguments: Arguments) -> Answer:
    return await _at_once(ask, elicitation("Please choose.", **CHOICES))


CALLS: dict[str, Callable[[McpRequest, Arguments], Awaitable[Answer]]] = {
    "test_sampling": _sampling,
    "test_elicitation": _elicitation,
    "test_elicitation_sep1034_defaults": _defaults,
    "test_elicitation_sep1330_enums": _choices,
    "test_missing_capability": asks(answer=CAPITAL),
    "test_streaming_elicitation": asks(user_name=NAME),
    "test_input_required_result_elicitation": asks(user_name=NAME),
    "test_input_required_result_sampling": asks(capital_question=CAPITAL),
    "test_input_required_result_list_roots": asks(client_roots=ROOTS),
    "test_input_required_result_request_state": asks(state="state", confirm=CONFIRMED),
    "test_input_required_result_tampered_state": asks(state="state", confirm=CONFIRMED),
    "test_input_required_result_multiple_inputs": asks(
        state="several", user_name=NAME, greeting=CAPITAL, client_roots=ROOTS
    ),
    "test_input_required_result_multi_round": _in_two_rounds,
    "test_input_required_result_capabilities": _what_the_client_can,
}
_TEXTS = {"test_sampling": "prompt", "test_elicitation": "message"}
TOOLS = [
    tool(
        name,
        "Ask the client for something before answering.",
        **({_TEXTS[name]: {"type": "string", "description": "What to ask"}} if name in _TEXTS else {}),
    )
    for name in CALLS
]
