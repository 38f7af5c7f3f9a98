"""One answer over the line to a provider, piece by piece.

It imports what speaks to providers, which takes seconds, so it is imported itself only when a model is first asked.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator

import httpx2
import msgspec
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from doorward import settings
from doorward.agents.models import anthropic_wire, openai_wire
from doorward.agents.models.faults import failure
from doorward.agents.models.mapping import messages, parameters
from doorward.agents.models.model import Asked, ModelFailed, Piece, Prompt, Spent, Text
from doorward.agents.models.provider import Provider
from doorward.agents.models.transport import Guarded

_TALKATIVE = ("openai", "anthropic", "httpx2", "httpcore2", "pydantic_ai")
"""Libraries that write whole requests to the log when a variable of the environment tells them to."""
_CONNECT = {"openai": openai_wire.connect, "anthropic": anthropic_wire.connect}
_USUAL_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_encode = msgspec.json.Encoder().encode

for _name in _TALKATIVE:
    logging.getLogger(_name).setLevel(logging.ERROR)


async def pieces(
    provider: Provider, model: str, key: str, limits: settings.Models, prompt: Prompt
) -> AsyncGenerator[Piece | None, None]:
    """The answer; None is a sign of life without words. Whatever happens, the connection is closed at the end."""
    name = f"{provider.name}:{model}"
    address = provider.address(with_key=bool(key))
    try:
        async with (
            _connected(provider, model, key, address, limits) as asked,
            asked.request_stream(
                messages(prompt), ModelSettings(max_tokens=prompt.most_tokens), parameters(prompt)
            ) as response,
        ):
            ended = False
            try:
                told = _Told(name, limits)
                async for event in response:
                    yield told.next(event)
                ended = True
            finally:
                if not ended:
                    with contextlib.suppress(Exception):  # it is given up; how closing fails is of no interest
                        await response.cancel()
            for piece in _end(name, response.get(), told.characters):
                yield piece
    except ModelFailed:
        raise
    except Exception as error:  # noqa: BLE001 - what comes from outside can break the libraries in any way
        raise failure(error, name, key) from None


@contextlib.asynccontextmanager
async def _connected(
    provider: Provider, model: str, key: str, address: str, limits: settings.Models
) -> AsyncIterator[Model]:
    """A model on a connection of its own, which no other answer uses: closing it ends the request for certain."""
    patience = provider.settings
    carrying = httpx2.AsyncHTTPTransport(
        verify=_trust() if address.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        limits=httpx2.Limits(max_connections=1, max_keepalive_connections=0),
        retries=0,
    )
    guarded = Guarded(
        carrying, address=address, key=key, most_bytes=limits.answer_bytes, with_account=provider.is_its_maker
    )
    timeout = httpx2.Timeout(patience.answer_seconds, connect=patience.connect_seconds)
    async with httpx2.AsyncClient(transport=guarded, timeout=timeout, follow_redirects=False, trust_env=False) as http:
        yield _CONNECT[patience.kind](model, address, http, is_its_maker=provider.is_its_maker)


@functools.cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


class _Told:
    """Turns what the library tells into pieces, and counts, since a stream need not ever end."""

    def __init__(self, name: str, limits: settings.Models) -> None:
        self._name = name
        self._limits = limits
        self._pieces = 0
        self.characters = 0

    def next(self, event: object) -> Piece | None:
        text, length = "", 0
        if isinstance(event, PartStartEvent):
            if isinstance(event.part, TextPart):
                text = event.part.content
            elif isinstance(event.part, ToolCallPart):
                length = len(_arguments(event.part))
        elif isinstance(event, PartDeltaEvent):
            if isinstance(event.delta, TextPartDelta):
                text = event.delta.content_delta
            else:
                written = getattr(event.delta, "args_delta", None) or getattr(event.delta, "content_delta", None)
                length = len(written) if isinstance(written, str) else 0
        self._pieces += 1
        self.characters += len(text) + length
        if self.characters > self._limits.answer_characters or self._pieces > self._limits.answer_pieces:
            raise ModelFailed(
                "bad_answer",
                f"The answer of {self._name} did not end: it was stopped after {self._pieces} pieces with "
                f"{self.characters} characters.",
            )
        return Text(text) if text else None


def _end(name: str, response: ModelResponse, characters: int) -> list[Piece]:
    """What is known when the stream is over: the calls, whole, and the cost. A stream without its end mark was cut.

    Calls are given at the end alone. Half a call is none, and a stream can break off at any letter.
    """
    details = response.provider_details or {}
    refusal = details.get("refusal")
    if not details.get("finish_reason") and not refusal:
        raise ModelFailed("cut", f"The answer of {name} broke off: the stream ended without its end mark.")
    found: list[Piece] = [Text(refusal)] if isinstance(refusal, str) and refusal and not characters else []
    ids: set[str] = set()
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            id = part.tool_call_id
            if not _USUAL_ID.fullmatch(id) or id in ids:
                id = f"call-{len(ids) + 1}"
            ids.add(id)
            found.append(Asked(id, part.tool_name, _arguments(part)))
    usage = response.usage
    if usage.input_tokens or usage.output_tokens:
        found.append(Spent(usage.input_tokens, usage.output_tokens))
    return found


def _arguments(part: ToolCallPart) -> str:
    """What the model wrote, unread; an object only where the provider gave it as one."""
    if part.args is None:
        return ""
    return part.args if isinstance(part.args, str) else _encode(part.args).decode()
