"""Stream one answer from a provider.

This module imports the provider libraries, which takes seconds, so it is imported only when a model is first asked.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Protocol

import httpx2
import msgspec
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from doorward import settings
from doorward.agents.models.faults import failure
from doorward.agents.models.mapping import messages, parameters
from doorward.agents.models.model import Asked, ModelFailed, Piece, Prompt, Spent, Text
from doorward.agents.models.provider import Provider
from doorward.agents.models.transport import Guarded

_TALKATIVE = ("openai", "anthropic", "httpx2", "httpcore2", "pydantic_ai")
"""Libraries that log whole requests if an environment variable tells them to."""
_MOST_CALLS = 100
"""The most calls that are collected from one answer, far more than are ever run."""
_USUAL_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_encode = msgspec.json.Encoder().encode


class Connect(Protocol):
    """Connects to a provider's API; see `openai_wire.py` and `anthropic_wire.py`."""

    def __call__(self, model: str, address: str, http: httpx2.AsyncClient, *, is_its_maker: bool) -> Model: ...


async def pieces(
    provider: Provider,
    model: str,
    key: str,
    limits: settings.Models,
    prompt: Prompt,
    connect: Connect,
    socket: str | None = None,
    heard: Callable[[], None] | None = None,
) -> AsyncGenerator[Piece | None, None]:
    """Stream the answer; None is a sign of life without text. The connection is always closed at the end.

    With a `socket` path, the request goes to that Unix socket, where our own local model listens. It reports progress
    while it reads a long prompt, and `heard` is called for every report.
    """
    name = f"{provider.name}:{model}"
    address = provider.address(with_key=bool(key))
    for talkative in _TALKATIVE:
        logging.getLogger(talkative).setLevel(logging.ERROR)
    try:
        async with (
            _connected(provider, model, key, address, limits, connect, socket, heard) as asked,
            asked.request_stream(messages(prompt), _settings(prompt, socket), parameters(prompt)) as response,
        ):
            ended = spoken = False
            try:
                calls = 0
                async for event in response:
                    calls += isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart)
                    if calls > _MOST_CALLS:
                        raise ModelFailed(
                            "cut", f"The answer of {name} was ended: it contains more than {_MOST_CALLS} calls."
                        )
                    text = _words(event)
                    spoken = spoken or bool(text)
                    yield Text(text) if text else None
                ended = True
            finally:
                if not ended:
                    with contextlib.suppress(Exception):  # the answer is abandoned; errors on closing do not matter
                        await response.cancel()
            for piece in _end(name, response.get(), spoken):
                yield piece
    except ModelFailed:
        raise
    except Exception as error:  # noqa: BLE001 - input from outside can break the libraries in any way
        raise failure(error, name, key) from None


@contextlib.asynccontextmanager
async def _connected(
    provider: Provider,
    model: str,
    key: str,
    address: str,
    limits: settings.Models,
    connect: Connect,
    socket: str | None,
    heard: Callable[[], None] | None,
) -> AsyncIterator[Model]:
    """Open a model on its own connection, so that closing it surely ends the request."""
    patience = provider.settings
    carrying = httpx2.AsyncHTTPTransport(
        verify=_trust() if address.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        limits=httpx2.Limits(max_connections=1, max_keepalive_connections=0),
        retries=0,
        uds=socket,
    )
    guarded = Guarded(
        carrying,
        address=address,
        key=key,
        most_bytes=limits.answer_bytes,
        with_account=provider.is_its_maker,
        heard=heard if socket else None,
    )
    timeout = httpx2.Timeout(patience.answer_seconds, connect=patience.connect_seconds)
    async with httpx2.AsyncClient(transport=guarded, timeout=timeout, follow_redirects=False, trust_env=False) as http:
        yield connect(model, address, http, is_its_maker=provider.is_its_maker)


def _settings(prompt: Prompt, socket: str | None) -> ModelSettings:
    if socket:
        return ModelSettings(max_tokens=prompt.most_tokens, extra_body={"return_progress": True})
    return ModelSettings(max_tokens=prompt.most_tokens)


@functools.cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


def _words(event: object) -> str:
    """Return the text of an event. Parts of calls and the model's reasoning are left out."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return _text(event.part.content)
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return _text(event.delta.content_delta)
    return ""


def _text(value: object) -> str:
    """Check that a value is text; the libraries do not."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value


def _end(name: str, response: ModelResponse, spoken: bool) -> list[Piece]:
    """Return the calls and the token usage at the end of the stream. A stream without its end mark was cut.

    Calls are returned only here, when they are complete: a stream can break off at any character.
    """
    details = response.provider_details or {}
    refusal = details.get("refusal")
    if not details.get("finish_reason") and not refusal:
        raise ModelFailed("cut", f"The answer of {name} was cut off: the stream ended without its end mark.")
    found: list[Piece] = [Text(refusal)] if isinstance(refusal, str) and refusal and not spoken else []
    ids: set[str] = set()
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            id = part.tool_call_id
            if not _USUAL_ID.fullmatch(id) or id in ids:
                id = f"call-{len(ids) + 1}"
            ids.add(id)
            found.append(Asked(id, _text(part.tool_name), _arguments(part)))
    usage = response.usage
    if usage.input_tokens or usage.output_tokens:
        found.append(Spent(int(usage.input_tokens), int(usage.output_tokens)))
    return found


def _arguments(part: ToolCallPart) -> str:
    """Return the arguments as the model wrote them, unparsed."""
    if part.args is None:
        return ""
    return part.args if isinstance(part.args, str) else _encode(part.args).decode()
