"""Anthropic's way of asking: messages, as a stream."""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.profiles.anthropic import AnthropicModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider

from doorward.agents.models.transport import STAND_IN


def connect(model: str, address: str, http: httpx2.AsyncClient, *, is_its_maker: bool) -> Model:
    """A model behind this client. Nothing is tried twice here: when to ask again is decided by whoever asks.

    The library adds the version to the path itself, so an address that ends in it is taken without. No traces of
    requests are made, whatever the environment says: they would hold what was said.
    """
    client = AsyncAnthropic(
        base_url=address.removesuffix("/v1"),
        api_key=STAND_IN,
        max_retries=0,
        http_client=http,
        open_telemetry=False,
    )
    plain = AnthropicModelProfile(json_schema_transformer=None)
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client), profile=plain)
