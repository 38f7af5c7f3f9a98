"""Connect to Anthropic's Messages API."""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.profiles.anthropic import AnthropicModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider

from doorward.agents.models.transport import KEY_PLACEHOLDER


def connect(model: str, address: str, http: httpx2.AsyncClient, *, is_its_maker: bool) -> Model:
    """Return a model that uses this HTTP client. It never retries; the caller decides when to ask again.

    The library adds /v1 to the path itself, so it is removed from the address. Tracing is off whatever the
    environment says, because traces would contain the conversation.
    """
    client = AsyncAnthropic(
        base_url=address.removesuffix("/v1"),
        api_key=KEY_PLACEHOLDER,
        max_retries=0,
        http_client=http,
        open_telemetry=False,
    )
    plain = AnthropicModelProfile(json_schema_transformer=None)
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client), profile=plain)
