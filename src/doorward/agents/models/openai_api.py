"""Connect to OpenAI's chat completions API, which many other services offer too."""

from __future__ import annotations

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from doorward.agents.models.transport import KEY_PLACEHOLDER


def connect(model: str, address: str, http: httpx2.AsyncClient, *, is_its_maker: bool) -> Model:
    """Return a model that uses this HTTP client. It never retries; the caller decides when to ask again.

    OpenAI's newer models take the answer length under a newer name, other services under the older one. Tool schemas
    are sent unchanged; the library would rewrite them.
    """
    client = AsyncOpenAI(base_url=address, api_key=KEY_PLACEHOLDER, max_retries=0, http_client=http)
    plain = OpenAIModelProfile(json_schema_transformer=None)
    if is_its_maker:
        return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client), profile=plain)
    plain["openai_chat_supports_max_completion_tokens"] = False
    provider = OpenAICompatibleProvider("doorward", openai_client=client)
    return OpenAIChatModel(model, provider=provider, profile=plain)
