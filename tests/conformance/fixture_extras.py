"""What the conformance suite wants of a server and no command of Doorward gives: pictures, sounds, and the like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import fixture_asking
import msgspec
from fixture_asking import elicitation, found
from fixture_pieces import AUDIO, IMAGE, PNG, embedded, tool

from doorward.core.wire.types import (
    CallToolResult,
    ContentBlock,
    GetPromptResult,
    InputRequiredResult,
    McpStruct,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceContents,
    ResourceTemplate,
    TextContent,
    Tool,
)
from doorward.doors.mcp import encoding
from doorward.doors.mcp.dispatcher import McpDispatcher
from doorward.doors.mcp.request import McpRequest

SHOWN: dict[str, list[ContentBlock]] = {
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [embedded("test://embedded-resource", "A text that came along.")],
    "test_multiple_content_types": [
        TextContent(text="A text, a picture and a resource:"),
        IMAGE,
        embedded("test://mixed-content-resource", '{"door":1}', "application/json"),
    ],
}
SCHEMA_TOOL = Tool(
    name="json_schema_2020_12_tool",
    description="Its schema has what the dialect of 2020-12 brought.",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
HELD = {
    "test://static-text": ResourceContents(
        uri="test://static-text", mime_type="text/plain", text="A text that never changes."
    ),
    "test://static-binary": ResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
    "test://watched-resource": ResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="A text that somebody watches."
    ),
}
_BEFORE, _AFTER = "test://template/", "/data"
CONTEXT = elicitation("What is it about?", context={"type": "string"})
SAID: dict[str, list[ContentBlock]] = {
    "test_simple_prompt": [TextContent(text="Say something short.")],
    "test_prompt_with_image": [IMAGE, TextContent(text="Say what this picture shows.")],
}


TOOLS = (
    *(tool(name, "Answer with more than text.") for name in SHOWN),
    SCHEMA_TOOL,
    *fixture_asking.TOOLS,
)
RESOURCES = tuple(
    Resource(uri=uri, name=uri.removeprefix("test://"), description="A resource for testing", mime_type=one.mime_type)
    for uri, one in HELD.items()
)
TEMPLATES = (
    ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="A template for testing",
        mime_type="application/json",
    ),
)
PROMPTS = (
    *(Prompt(name=name, description="A prompt for testing") for name in SAID),
    Prompt(
        name="test_prompt_with_arguments",
        description="A prompt with two arguments",
        arguments=[
            PromptArgument(name="arg1", description="The first", required=True),
            PromptArgument(name="arg2", description="The second", required=True),
        ],
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="A prompt with a resource in it",
        arguments=[PromptArgument(name="resourceUri", description="Which resource", required=True)],
    ),
    Prompt(name="test_input_required_result_prompt", description="A prompt that asks first"),
)
LISTED: dict[str, tuple[str, Sequence[McpStruct]]] = {
    "tools/list": ("tools", TOOLS),
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", TEMPLATES),
    "prompts/list": ("prompts", PROMPTS),
}


class FixtureDispatcher(McpDispatcher):
    """Answers for what only the fixture has, past the gate, and leaves every other request to the product."""

    async def dispatch(self, ask: McpRequest) -> bytes:
        given = await _answer(ask)
        if isinstance(given, InputRequiredResult):
            return encoding.encode_input_required(given)
        if given is not None and ask.method == "resources/read":
            return encoding.encode_cacheable(ask.era, given, 0)
        if given is not None:
            return encoding.encode_result(ask.era, given)
        answer = await super().dispatch(ask)
        return _extend(answer, *LISTED[ask.method]) if ask.method in LISTED else answer


def _extend(answer: bytes, kind: str, more: Sequence[McpStruct]) -> bytes:
    """Put the entries of the fixture at the end of the last page."""
    body = json.loads(answer)
    if "nextCursor" not in body:
        body[kind] += more
    return msgspec.json.encode(body)


async def _answer(ask: McpRequest) -> McpStruct | Mapping[str, Any] | None:
    """What the fixture answers; None for whatever is not its own."""
    params = ask.params
    if ask.method == "tools/call":
        return await _call(ask, params.get("name"), params.get("arguments", {}))
    if ask.method == "prompts/get":
        return _get_prompt(ask, params.get("name"), params.get("arguments", {}))
    if ask.method == "resources/read":
        return _read(params.get("uri", ""))
    if ask.method == "resources/subscribe" and params.get("uri") in HELD:
        ask.peer.subscribed.add(params["uri"])
        return {}
    if ask.method == "completion/complete" and params["ref"].get("name") == "test_prompt_with_arguments":
        typed = params["argument"]["value"]
        values = [word for word in ("test", "testing", "tested") if word.startswith(typed)]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}
    return None


async def _call(ask: McpRequest, name: Any, arguments: Mapping[str, Any]) -> McpStruct | None:
    if name in SHOWN:
        return CallToolResult(content=SHOWN[name])
    return await fixture_asking.CALLS[name](ask, arguments) if name in fixture_asking.CALLS else None


def _read(uri: str) -> Mapping[str, Any] | None:
    if uri in HELD:
        return {"contents": [HELD[uri]]}
    if uri.startswith(_BEFORE) and uri.endswith(_AFTER):
        text = json.dumps({"id": uri.removeprefix(_BEFORE).removesuffix(_AFTER)})
        return {"contents": [ResourceContents(uri=uri, mime_type="application/json", text=text)]}
    return None


def _get_prompt(ask: McpRequest, name: Any, arguments: Mapping[str, str]) -> McpStruct | None:
    if name in SAID:
        return _prompt(*SAID[name])
    if name == "test_prompt_with_arguments":
        return _prompt(TextContent(text=f"arg1={arguments['arg1']!r}, arg2={arguments['arg2']!r}"))
    if name == "test_prompt_with_embedded_resource":
        resource = embedded(arguments["resourceUri"], "A text that came along with the prompt.")
        return _prompt(resource, TextContent(text="Say what the resource holds."))
    if name == "test_input_required_result_prompt":
        given = found(ask, {"user_context": CONTEXT})
        if given is None:
            return InputRequiredResult(input_requests={"user_context": CONTEXT})
        return _prompt(TextContent(text=json.dumps(given)))
    return None


def _prompt(*contents: ContentBlock) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=one) for one in contents])
