"""Small things that the conformance suite wants to see: a picture, a sound, a resource, a sentence."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib
from typing import Any

from doorward.core.wire.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    TextContent,
    Tool,
)

_RED = (b"\xff\x00\x00",)


def _png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00" + b"".join(_RED))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _wav() -> bytes:
    """A tenth of a second of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(b"\x80" * 800)
    return file.getvalue()


PNG = base64.b64encode(_png()).decode()
IMAGE = ImageContent(data=PNG, mime_type="image/png")
AUDIO = AudioContent(data=base64.b64encode(_wav()).decode(), mime_type="audio/wav")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(resource=ResourceContents(uri=uri, mime_type=mime_type, text=text))


def says(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


def tool(name: str, description: str, **properties: Any) -> Tool:
    """A tool whose parameters are all texts, and all required."""
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if properties:
        schema["required"] = list(properties)
    return Tool(name=name, description=description, input_schema=schema)
