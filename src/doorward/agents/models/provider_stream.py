"""Streams one answer from a provider: converts the prompt to its messages, and its events back.

This module imports the provider libraries, which takes seconds, so it is imported only when a model is first asked.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Protocol

import httpx2
import msgspec
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from doorward.agents.models.answer_shape import write_call
from doorward.agents.models.model import (
    AnswerPiece,
    ChatTurn,
    ModelFailed,
    NativeCall,
    Prompt,
    TextPiece,
    TokenUsage,
    ToolSpec,
)
from doorward.agents.models.provider import ModelProvider
from doorward.agents.models.provider_errors import convert_error
from doorward.agents.models.transport import GuardedTransport
from doorward.config import settings
from doorward.core import strictjson
from doorward.core.escape_invisible import escape_invisible, to_storable

CONVERSATION_START = "(The conversation begins here.)"
NO_NEW_MESSAGES = "(Nobody said anything since.)"
NO_RESULT = "No result: the call was never finished."
UNREADABLE_KEY = "unreadable_arguments"
_MAX_UNREADABLE = 2_000
_INVALID_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")


def build_parameters(prompt: Prompt) -> ModelRequestParameters:
    """Return the instructions and the tools, which the library offers and never runs."""
    return ModelRequestParameters(
        function_tools=[] if prompt.shape else [_convert_tool(one) for one in prompt.tools],
        allow_text_output=True,
        instruction_parts=[InstructionPart(content=to_storable(prompt.instructions))] if prompt.instructions else None,
    )


def build_messages(prompt: Prompt) -> list[ModelMessage]:
    """Return the turns in an order that every provider accepts."""
    made = _MessageBuilder(natively=bool(prompt.tools) and not prompt.shape, shaped=bool(prompt.shape))
    for turn in prompt.turns:
        if turn.role == "user":
            made.add_user(turn.rendered_text)
        elif turn.role == "result":
            made.add_result(turn)
        else:
            made.add_assistant(turn)
    return made.build()


class _MessageBuilder:
    """Builds the messages. Results are placed after their call, and user messages of the meantime after the results.

    Without tools, providers accept no calls either, so earlier calls are described in words, or written in the shape.
    """

    def __init__(self, *, natively: bool, shaped: bool = False) -> None:
        self._with_tools = natively
        self._describe_call = write_call if shaped else _describe_call
        self._messages: list[ModelMessage] = []
        self._response: list[ModelResponsePart] = []
        self._open: dict[str, ToolCallPart] = {}
        self._results: dict[str, str] = {}
        self._user_texts: list[str] = []
        self._calls = 0

    def add_user(self, text: str) -> None:
        if text.strip():
            self._user_texts.append(text)

    def add_result(self, turn: ChatTurn) -> None:
        """Add a result. If its call is not shown or has a result already, it is described in words."""
        call = self._open.get(turn.answers)
        if call is None or call.tool_call_id in self._results:
            tool = escape_invisible(turn.tool or "an earlier call", lines=False)
            self.add_user(f"(Result of {tool}:)\n{to_storable(turn.text)}")
        else:
            self._results[call.tool_call_id] = to_storable(turn.text)

    def add_assistant(self, turn: ChatTurn) -> None:
        if not turn.text.strip() and not turn.calls:
            return
        if self._user_texts or self._open:
            self._flush()
        if turn.text.strip():
            self._response.append(TextPart(content=to_storable(turn.text)))
        for call in turn.calls:
            if not self._with_tools:
                self._response.append(TextPart(content=to_storable(self._describe_call(call))))
                continue
            self._calls += 1
            part = _convert_call(call, f"call{self._calls:05d}")
            self._response.append(part)
            self._open[call.id] = part

    def build(self) -> list[ModelMessage]:
        if self._response and not (self._user_texts or self._open):
            self.add_user(NO_NEW_MESSAGES)
        self._flush()
        first = self._messages[0] if self._messages else None
        if first is None or isinstance(first, ModelResponse):
            self._messages.insert(0, ModelRequest(parts=[UserPromptPart(content=CONVERSATION_START)]))
        return self._messages

    def _flush(self) -> None:
        """Add the answer so far, then the results of its calls and the user messages since."""
        if self._response:
            self._messages.append(ModelResponse(parts=self._response))
        parts: list[ModelRequestPart] = [
            ToolReturnPart(
                tool_name=call.tool_name,
                content=self._results.get(call.tool_call_id, NO_RESULT),
                tool_call_id=call.tool_call_id,
            )
            for call in self._response
            if isinstance(call, ToolCallPart)
        ]
        if self._user_texts:
            parts.append(UserPromptPart(content="\n\n".join(self._user_texts)))
        if parts:
            self._messages.append(ModelRequest(parts=parts))
        self._response, self._open, self._results, self._user_texts = [], {}, {}, []


def _convert_call(call: NativeCall, id: str) -> ToolCallPart:
    """Return an earlier call with an id of ours, because ids of one provider are not valid with another."""
    name = _INVALID_NAME_CHARACTERS.sub("_", call.name)[:64] or "unnamed"
    return ToolCallPart(tool_name=name, args=_parse_arguments(call.arguments), tool_call_id=id)


def _describe_call(call: NativeCall) -> str:
    written = to_storable(call.arguments[:_MAX_UNREADABLE])
    return f"(I called {escape_invisible(call.name, lines=False)} with {written or 'nothing'}.)"


def _parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments as an object, as providers require. Unreadable arguments are wrapped as text."""
    try:
        value = strictjson.loads(text) if text.strip() else {}
    except strictjson.NotJson:
        value = None
    return value if isinstance(value, dict) else {UNREADABLE_KEY: to_storable(text[:_MAX_UNREADABLE])}


def _convert_tool(tool: ToolSpec) -> ToolDefinition:
    """Return a tool with the unchanged schema of its command, without the `$schema` key."""
    schema = {key: value for key, value in tool.schema.items() if key != "$schema"}
    return ToolDefinition(name=tool.name, description=to_storable(tool.description), parameters_json_schema=schema)


_VERBOSE_LIBRARIES = ("openai", "anthropic", "httpx2", "httpcore2", "pydantic_ai")
"""Libraries that log whole requests if an environment variable tells them to."""
_MAX_CALLS = 100
"""The most calls that are collected from one answer, far more than are ever run."""
_VALID_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_encode = msgspec.json.Encoder().encode


class Connect(Protocol):
    """Connects to a provider's API; see `openai_api.py` and `anthropic_api.py`."""

    def __call__(self, model: str, address: str, http: httpx2.AsyncClient, *, is_its_maker: bool) -> Model: ...


async def stream_answer(
    provider: ModelProvider,
    model: str,
    key: str,
    limits: settings.ModelSettings,
    prompt: Prompt,
    connect: Connect,
    socket: str | None = None,
    heard: Callable[[], None] | None = None,
) -> AsyncGenerator[AnswerPiece | None, None]:
    """Stream the answer; None is a sign of life without text. The connection is always closed at the end.

    With a `socket` path, the request goes to that Unix socket, where our own local model listens. It reports progress
    while it reads a long prompt, and `heard` is called for every report.
    """
    name = f"{provider.name}:{model}"
    address = provider.address(with_key=bool(key))
    for talkative in _VERBOSE_LIBRARIES:
        logging.getLogger(talkative).setLevel(logging.ERROR)
    try:
        async with (
            _open_model(provider, model, key, address, limits, connect, socket, heard) as asked,
            asked.request_stream(
                build_messages(prompt), _request_settings(prompt, socket), build_parameters(prompt)
            ) as response,
        ):
            ended = spoken = False
            try:
                calls = 0
                async for event in response:
                    calls += isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart)
                    if calls > _MAX_CALLS:
                        raise ModelFailed(
                            "cut", f"The answer of {name} was ended: it contains more than {_MAX_CALLS} calls."
                        )
                    text = _event_text(event)
                    spoken = spoken or bool(text)
                    yield TextPiece(text) if text else None
                ended = True
            finally:
                if not ended:
                    with contextlib.suppress(Exception):  # the answer is abandoned; errors on closing do not matter
                        await response.cancel()
            for piece in _final_pieces(name, response.get(), spoken):
                yield piece
    except ModelFailed:
        raise
    except Exception as error:  # noqa: BLE001 - input from outside can break the libraries in any way
        raise convert_error(error, name, key) from None


@contextlib.asynccontextmanager
async def _open_model(
    provider: ModelProvider,
    model: str,
    key: str,
    address: str,
    limits: settings.ModelSettings,
    connect: Connect,
    socket: str | None,
    heard: Callable[[], None] | None,
) -> AsyncIterator[Model]:
    """Open a model on its own connection, so that closing it surely ends the request."""
    patience = provider.settings
    carrying = httpx2.AsyncHTTPTransport(
        verify=_tls_context() if address.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        limits=httpx2.Limits(max_connections=1, max_keepalive_connections=0),
        retries=0,
        uds=socket,
    )
    guarded = GuardedTransport(
        carrying,
        address=address,
        key=key,
        most_bytes=limits.answer_bytes,
        with_account=provider.is_official,
        heard=heard if socket else None,
    )
    timeout = httpx2.Timeout(patience.answer_seconds, connect=patience.connect_seconds)
    async with httpx2.AsyncClient(transport=guarded, timeout=timeout, follow_redirects=False, trust_env=False) as http:
        yield connect(model, address, http, is_its_maker=provider.is_official)


def _request_settings(prompt: Prompt, socket: str | None) -> ModelSettings:
    extra: dict[str, Any] = {"return_progress": True} if socket else {}
    if prompt.shape:
        schema = {"name": "answer", "schema": prompt.shape, "strict": True}
        extra["response_format"] = {"type": "json_schema", "json_schema": schema}
    return ModelSettings(max_tokens=prompt.most_tokens, extra_body=extra)


@functools.cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _event_text(event: object) -> str:
    """Return the text of an event. Parts of calls and the model's reasoning are left out."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return _require_text(event.part.content)
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return _require_text(event.delta.content_delta)
    return ""


def _require_text(value: object) -> str:
    """Check that a value is text; the libraries do not."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value


def _final_pieces(name: str, response: ModelResponse, spoken: bool) -> list[AnswerPiece]:
    """Return the calls and the token usage at the end of the stream. A stream without its end mark was cut.

    Calls are returned only here, when they are complete: a stream can break off at any character.
    """
    details = response.provider_details or {}
    refusal = details.get("refusal")
    if not details.get("finish_reason") and not refusal:
        raise ModelFailed("cut", f"The answer of {name} was cut off: the stream ended without its end mark.")
    found: list[AnswerPiece] = [TextPiece(refusal)] if isinstance(refusal, str) and refusal and not spoken else []
    ids: set[str] = set()
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            id = part.tool_call_id
            if not _VALID_ID.fullmatch(id) or id in ids:
                id = f"call-{len(ids) + 1}"
            ids.add(id)
            found.append(NativeCall(id, _require_text(part.tool_name), _arguments_text(part)))
    usage = response.usage
    if usage.input_tokens or usage.output_tokens:
        found.append(TokenUsage(int(usage.input_tokens), int(usage.output_tokens)))
    return found


def _arguments_text(part: ToolCallPart) -> str:
    """Return the arguments as the model wrote them, unparsed."""
    if part.args is None:
        return ""
    return part.args if isinstance(part.args, str) else _encode(part.args).decode()
