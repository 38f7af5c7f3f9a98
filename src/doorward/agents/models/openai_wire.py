"""The way of asking that OpenAI began and many others understand: chat completions, as a stream."""

from __future__ import annotations

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from doorward.agents.models.transport import STAND_IN


def connect(model: str, address: str, http: httpx2.AsyncClient, *, is_its_maker: bool) -> Model:
    """A model behind this client. Nothing is tried twice here: when to ask again is decided by whoever asks.

    OpenAI's own newer models want the length of an answer under a newer name; those who speak like OpenAI know the
    older one. Schemas of tools go out as they are, not as the library would rewrite them.
    """
    client = AsyncOpenAI(base_url=address, api_key=STAND_IN, max_retries=0, http_client=http)
    plain = OpenAIModelProfile(json_schema_transformer=None)
    if is_its_maker:
        return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client), profile=plain)
    plain["openai_chat_supports_max_completion_tokens"] = False
    provider = OpenAICompatibleProvider("doorward", openai_client=client)
    return OpenAIChatModel(model, provider=provider, profile=plain)
