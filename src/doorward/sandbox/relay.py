"""Copies bytes between two connections, and writes short HTTP answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

LARGEST_HEAD = 65_536
_IDLE_SECONDS = 600.0
_WRITE_SECONDS = 30.0
_PIECE = 65_536


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """Copy one direction until it ends; return its bytes."""
    total = 0
    with contextlib.suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(_IDLE_SECONDS):
                piece = await reader.read(_PIECE)
                if not piece:
                    break
                total += len(piece)
                writer.write(piece)
                await writer.drain()
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
    return total


async def write_text(writer: asyncio.StreamWriter, status: str, text: str, fields: Sequence[str] = ()) -> None:
    """Answer a request with a plain text, and let the connection close."""
    body = f"{text}\n".encode() if text else b""
    own = ("Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}", "Connection: close")
    writer.write("\r\n".join((f"HTTP/1.1 {status}", *fields, *own, "", "")).encode() + body)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_WRITE_SECONDS):
            await writer.drain()
