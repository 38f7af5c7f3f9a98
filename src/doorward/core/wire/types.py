"""The MCP types in results. An absent field is left out, never null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeGuard

import msgspec


class McpStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base of all MCP types."""


class Implementation(McpStruct, frozen=True):
    name: str
    version: str
    title: str | None = None


class ToolAnnotations(McpStruct, frozen=True):
    """Hints. All are set, because clients assume the worst for a missing one."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class Tool(McpStruct, frozen=True):
    name: str
    input_schema: Any
    title: str | None = None
    description: str | None = None
    output_schema: Any = None
    annotations: ToolAnnotations | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class TextContent(McpStruct, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageContent(McpStruct, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


class AudioContent(McpStruct, frozen=True, tag_field="type", tag="audio"):
    data: str
    mime_type: str


class ResourceContents(McpStruct, frozen=True):
    """The contents of a resource: text, or bytes as Base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class EmbeddedResource(McpStruct, frozen=True, tag_field="type", tag="resource"):
    resource: ResourceContents


class ResourceLink(McpStruct, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink


class CallToolResult(McpStruct, frozen=True):
    content: list[ContentBlock] | msgspec.Raw
    structured_content: Any = None
    is_error: bool = False


class Resource(McpStruct, frozen=True):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


class ResourceTemplate(McpStruct, frozen=True):
    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


class PromptArgument(McpStruct, frozen=True):
    name: str
    title: str | None = None
    description: str | None = None
    required: bool = False


class Prompt(McpStruct, frozen=True):
    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] = []


class PromptMessage(McpStruct, frozen=True):
    role: Literal["user", "assistant"]
    content: ContentBlock


class GetPromptResult(McpStruct, frozen=True):
    messages: list[PromptMessage]
    description: str | None = None


class InputRequiredResult(McpStruct, frozen=True):
    """Since 2026-07-28: asks the client for input before it sends the request again."""

    input_requests: dict[str, Any] | None = None
    request_state: str | None = None


Block = dict[str, Any]


def is_valid_block(block: Any) -> TypeGuard[Block]:
    """Whether this is a valid block: one bad block makes some clients drop the whole result."""
    if type(block) is not dict:
        return False
    kind = block.get("type")
    is_whole = _VALIDATORS.get(kind) if type(kind) is str else None
    return is_whole is not None and is_whole(block)


def _is_text(block: Block) -> bool:
    return type(block.get("text")) is str


def _has_data(block: Block) -> bool:
    return type(block.get("data")) is str and type(block.get("mimeType")) is str


def _is_link(block: Block) -> bool:
    return type(block.get("uri")) is str and type(block.get("name")) is str


def _has_resource(block: Block) -> bool:
    held = block.get("resource")
    if type(held) is not dict or type(held.get("uri")) is not str:
        return False
    return type(held.get("text")) is str or type(held.get("blob")) is str


_VALIDATORS: dict[Any, Callable[[Block], bool]] = {
    "text": _is_text,
    "image": _has_data,
    "audio": _has_data,
    "resource_link": _is_link,
    "resource": _has_resource,
}
