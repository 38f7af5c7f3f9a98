"""The settings of models, personas, the keeper, the command search and shell sessions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Amount = Annotated[float, Meta(ge=-1_000_000_000, le=1_000_000_000)]
Rate = Annotated[float, Meta(ge=0, le=1_000_000_000)]


ProviderName = Annotated[str, Meta(pattern=r"^(?!house$|default$|local$)[a-z][a-z0-9_-]{0,31}$")]
LocalName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
TierName = Annotated[str, Meta(pattern=r"^(?!house$|default$|local$|openai$|anthropic$)[a-z][a-z0-9_-]{0,31}$")]


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[models.providers.NAME]`: a service that serves models. API keys are never written here."""

    kind: Literal["openai", "anthropic"] = "openai"
    """The API of the provider: that of OpenAI, which many others offer too, or that of Anthropic."""
    base_url: str = ""
    """The address of the API, such as `http://127.0.0.1:11434/v1`; empty means OpenAI or Anthropic itself."""
    model: str = ""
    """The default model of the provider; empty means that a model must be named."""
    key_env: str = ""
    """The environment variable with the API key; empty means the usual name, such as `OPENAI_API_KEY` for `openai`."""
    key_file: str = ""
    """A file with the API key instead, as an absolute path; it must be readable by the owner only."""
    needs_key: bool = True
    """Whether the provider requires an API key; a model server on your own machine often does not."""
    constrain: Literal["auto", "on", "off"] = "auto"
    """Whether answers may be constrained to a JSON schema; `auto` means on this machine, and not for `anthropic`."""
    small: Literal["auto", "on", "off"] = "auto"
    """Whether its models get the short context of small models; `auto` goes by their context and name."""
    plain_http: bool = False
    """Whether the API key may be sent unencrypted, over http, to another machine."""
    connect_seconds: Seconds = 10.0
    """Time limit for connecting to the provider."""
    first_seconds: Seconds = 60.0
    """Time limit for the first piece of an answer."""
    piece_seconds: Seconds = 60.0
    """Time limit for each further piece of an answer."""
    answer_seconds: Seconds = 300.0
    """Time limit for a whole answer."""


class LocalModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[models.local.NAME]`: a model in a GGUF file, which runs on this machine as `local:NAME`."""

    file: str = ""
    """The GGUF file, as an absolute path; for a model in several files, the first."""
    threads: Annotated[int, Meta(ge=1, le=512)] = 2
    """The number of threads; more than the machine has processors slows the model down."""
    context: Annotated[int, Meta(ge=512, le=1_048_576)] = 8_192
    """The context size in tokens, including the answer; a larger one takes more memory."""
    small: Literal["auto", "on", "off"] = "auto"
    """Whether it gets the short context of small models; `auto` means yes."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.2
    """The sampling temperature; 0 always picks the likeliest token."""
    load_seconds: Seconds = 120.0
    """Time limit for loading the model."""
    first_seconds: Seconds = 120.0
    """Time limit for each 512 tokens of the prompt, before the first piece of an answer."""
    piece_seconds: Seconds = 60.0
    """Time limit for each further piece of an answer."""
    answer_seconds: Seconds = 600.0
    """Time limit for a whole answer."""
    idle_minutes: Annotated[float, Meta(gt=0, le=10_080)] = 10.0
    """Minutes without use after which the model is unloaded and its memory is freed."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default: str = "house"
    """The model used as `default`; `house` is the built-in one, which needs no key and no network."""
    fallback: str = "house"
    """The model that answers when another is unavailable; the answer says so. Empty means no fallback."""
    tiers: dict[TierName, str] = {}
    """Price tiers, such as `cheap`, and the model of each: a table `[models.tiers]`."""
    local: dict[LocalName, LocalModelSettings] = {}
    """Models in files on this machine, by name: a table `[models.local.NAME]` each, see docs/MODELS.md."""
    providers: dict[ProviderName, ProviderSettings] = {}
    """Services that serve models, by name: a table `[models.providers.NAME]` each, see docs/MODELS.md."""
    dollars_per_day: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0
    """Limit in US dollars per day (UTC) for models on other machines; 0 means none. Unknown prices are then refused."""
    prices: dict[str, tuple[Rate, Rate]] = {}
    """Own prices by model, such as `"groq:*" = [0.6, 0.8]`: US dollars per million tokens of input and of output."""
    answer_bytes: Count = 16_777_216
    """Maximum bytes that a provider may send for one answer; the text is a small part of them."""


class PersonaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ai_turns: Annotated[int, Meta(ge=0, le=1_000)] = 3
    """Maximum turns of AIs in a room for one message of a person; then they wait for the next message."""
    rounds: Annotated[int, Meta(ge=1, le=100)] = 10
    """Maximum rounds of commands and results of a model within one turn."""
    calls: Annotated[int, Meta(ge=1, le=1_000)] = 20
    """Maximum calls read from one answer of a model; the answer notes that the rest was left out."""
    answer_characters: Count = 200_000
    """Maximum characters read from one answer."""
    answer_pieces: Count = 100_000
    """Maximum streamed pieces read for one answer."""
    answer_seconds: Seconds = 180.0
    """Time limit for one answer of a model."""
    history: Annotated[int, Meta(ge=1, le=1_000)] = 100
    """Maximum newest messages of a room in a model's context, within its token limit."""
    wait_seconds: Annotated[float, Meta(ge=0, le=600)] = 30.0
    """How long to wait, once, when a model provider limits the rate; after that the room gets a message."""


class KeeperSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str = ""
    """The keeper's model, such as `house`; empty means the one of OPENAI_API_KEY and USHELL_LLM_MODEL, or `house`."""
    models: tuple[str, ...] = ()
    """Models that everybody may name in a request; others need full access in the server's own tenant."""
    for_tenants: bool = False
    """Whether other tenants may use this model too, at the owner's cost; otherwise they get `house`."""
    turns: Annotated[int, Meta(ge=1, le=100)] = 12
    """Maximum model turns for one request."""
    seconds: Annotated[float, Meta(gt=0, le=840)] = 120.0
    """Time limit of one request in seconds, not counting the time spent waiting for approvals."""
    calls: Annotated[int, Meta(ge=1, le=1_000)] = 20
    """Maximum calls read from one answer of its model; the answer notes that the rest was left out."""
    tokens: Count = 100_000
    """Maximum tokens of one request, as its model counts them."""
    talk: Annotated[int, Meta(ge=0, le=100)] = 10
    """Maximum earlier requests of a session, with their answers, in the model's context."""
    shown_tokens: Annotated[int, Meta(ge=2_000, le=1_000_000)] = 16_000
    """Maximum tokens of the model's context, including its answer."""
    answer_tokens: Annotated[int, Meta(ge=64, le=100_000)] = 2_000
    """Maximum tokens of one answer of its model."""
    approve_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 600.0
    """How long an action that cannot be undone waits for approval."""


class SearchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    learn: bool = False
    """Whether accepted suggestions are remembered, on this server and per tenant, and rank higher."""
    vectors: Literal["auto", "off"] = "auto"
    """Whether the search also compares meanings: `auto` does so when the extra `vectors` is installed."""


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    idle_days: Annotated[float, Meta(gt=0, le=366)] = 30.0
    """Days without use after which a shell session is deleted."""
    each: Count = 100
    """Maximum sessions of one person; when there are more, the oldest of those used only once is deleted first."""
