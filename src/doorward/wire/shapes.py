"""The MCP types in results. An absent field is left out, never null."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base of all MCP types."""


class Implementation(Shape, frozen=True):
    name: str
    version: str
    title: str | None = None


class ToolAnnotations(Shape, frozen=True):
    """Hints. All are set, because clients assume the worst for a missing one."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class Tool(Shape, frozen=True):
    name: str
    input_schema: Any
    title: str | None = None
    description: str | None = None
    output_schema: Any = None
    annotations: ToolAnnotations | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class Text(Shape, frozen=True, tag_field="type", tag="text"):
    text: str


class Image(Shape, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


class Audio(Shape, frozen=True, tag_field="type", tag="audio"):
    data: str
    mime_type: str


class Contents(Shape, frozen=True):
    """The contents of a resource: text, or bytes as Base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class Embedded(Shape, frozen=True, tag_field="type", tag="resource"):
    resource: Contents


class Link(Shape, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


Content = Text | Image | Audio | Embedded | Link


class ToolResult(Shape, frozen=True):
    content: list[Content] | msgspec.Raw
    structured_content: Any = None
    is_error: bool = False


class Resource(Shape, frozen=True):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


class ResourceTemplate(Shape, frozen=True):
    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


class PromptArgument(Shape, frozen=True):
    name: str
    title: str | None = None
    description: str | None = None
    required: bool = False


class Prompt(Shape, frozen=True):
    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] = []


class PromptMessage(Shape, frozen=True):
    role: Literal["user", "assistant"]
    content: Content


class PromptResult(Shape, frozen=True):
    messages: list[PromptMessage]
    description: str | None = None


class InputRequired(Shape, frozen=True):
    """Since 2026-07-28: asks the client for input before it sends the request again."""

    input_requests: dict[str, Any] | None = None
    request_state: str | None = None
