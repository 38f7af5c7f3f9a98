"""The settings of what thinks: models, personas, the keeper, the search for commands, and sessions of the shell."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from doorward.settings.bounds import Count, Seconds

ProviderName = Annotated[str, Meta(pattern=r"^(?!house$|default$|local$)[a-z][a-z0-9_-]{0,31}$")]
LocalName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
TierName = Annotated[str, Meta(pattern=r"^(?!house$|default$|local$|openai$|anthropic$)[a-z][a-z0-9_-]{0,31}$")]


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[models.providers.NAME]`: a service that models are asked at. A key is never written here."""

    kind: Literal["openai", "anthropic"] = "openai"
    """Which way of asking it understands: that of OpenAI, as many others do, or that of Anthropic."""
    base_url: str = ""
    """Its address, such as `http://127.0.0.1:11434/v1`; empty means that of OpenAI or Anthropic itself."""
    model: str = ""
    """The model that is meant where the provider is named alone; empty means that the model has to be named."""
    key_env: str = ""
    """The environment variable that holds the key; empty means by its name, such as `OPENAI_API_KEY` for `openai`."""
    key_file: str = ""
    """A file that holds the key instead, as an absolute path; only the owner's account may be able to read it."""
    needs_key: bool = True
    """Whether it has to be shown a key; a model on your own machine often does not."""
    plain_http: bool = False
    """Whether the key may go unencrypted, by http, to another machine than this one."""
    connect_seconds: Seconds = 10.0
    """How long connecting to it may take."""
    first_seconds: Seconds = 60.0
    """How long the first piece of an answer may take."""
    piece_seconds: Seconds = 60.0
    """How long each further piece of an answer may take."""
    answer_seconds: Seconds = 300.0
    """How long a whole answer may take."""


class Local(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table `[models.local.NAME]`: a model in a GGUF file, which thinks on this machine as `local:NAME`."""

    file: str = ""
    """The GGUF file, as an absolute path; of a model in several files, the first."""
    threads: Annotated[int, Meta(ge=1, le=512)] = 2
    """How many threads it thinks with; more than the machine has processors only slows it down."""
    context: Annotated[int, Meta(ge=512, le=1_048_576)] = 8_192
    """How many tokens it is shown at most, its answer included; more of them take more memory."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.2
    """How freely it picks its words: 0 always takes the likeliest."""
    load_seconds: Seconds = 120.0
    """How long loading it may take."""
    first_seconds: Seconds = 120.0
    """How long it may take to read each 512 tokens of what it is shown, before the first piece of an answer."""
    piece_seconds: Seconds = 60.0
    """How long each further piece of an answer may take."""
    answer_seconds: Seconds = 600.0
    """How long a whole answer may take."""
    idle_minutes: Annotated[float, Meta(gt=0, le=10_080)] = 10.0
    """After how many minutes in which nobody asked it, it is put away and its memory is free again."""


class Models(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default: str = "house"
    """The model that is meant by `default`; `house` is the built-in one, which needs no key and no network."""
    fallback: str = "house"
    """The model that answers where another could not be asked, which is then said; empty means that none does."""
    tiers: dict[TierName, str] = {}
    """Names for what a model costs, such as `cheap`, and the model that each means: a table `[models.tiers]`."""
    local: dict[LocalName, Local] = {}
    """Models in files on this machine, by name: a table `[models.local.NAME]` each, see docs/MODELS.md."""
    providers: dict[ProviderName, Provider] = {}
    """Services to ask models at, by name: a table `[models.providers.NAME]` each, see docs/MODELS.md."""
    answer_bytes: Count = 16_777_216
    """The most bytes that a provider may send for one answer; the words in them are a small part of that."""


class Personas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ai_turns: Annotated[int, Meta(ge=0, le=1_000)] = 3
    """How many turns AIs take in a room for one message of a person; then they wait for the next one."""
    rounds: Annotated[int, Meta(ge=1, le=100)] = 10
    """How often a model may run commands and look at their results within one turn."""
    calls: Annotated[int, Meta(ge=1, le=1_000)] = 20
    """How many calls are read from one answer of a model; the rest is left out and said to be."""
    answer_characters: Count = 200_000
    """The most characters that are read of one answer."""
    answer_pieces: Count = 100_000
    """The most pieces that one answer is read in."""
    answer_seconds: Seconds = 180.0
    """How long a model may take for one answer."""
    history: Annotated[int, Meta(ge=1, le=1_000)] = 100
    """How many of the newest messages of a room a model is shown at most, within its tokens."""
    wait_seconds: Annotated[float, Meta(ge=0, le=600)] = 30.0
    """How long a model that is asked too often is waited for, once; beyond that the room is told."""


class Keeper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str = ""
    """What the keeper thinks with, such as `house`; empty: what OPENAI_API_KEY and USHELL_LLM_MODEL name, or house."""
    models: tuple[str, ...] = ()
    """Models that everybody may name in a request; any other only people of the house's own tenant with full access."""
    for_tenants: bool = False
    """Whether the keeper thinks with this model for other tenants as well, at the house's cost; else with `house`."""
    turns: Annotated[int, Meta(ge=1, le=100)] = 12
    """How often its model is asked for one request, at most."""
    seconds: Annotated[float, Meta(gt=0, le=840)] = 120.0
    """How long one request may take it, in seconds, without the time that people take to approve."""
    calls: Annotated[int, Meta(ge=1, le=1_000)] = 20
    """How many calls are read from one answer of its model; the rest is left out and said to be."""
    tokens: Count = 100_000
    """How many tokens one request may cost, as its model counts them."""
    talk: Annotated[int, Meta(ge=0, le=100)] = 10
    """How many earlier requests of a session its model is shown, with their answers."""
    shown_tokens: Annotated[int, Meta(ge=2_000, le=1_000_000)] = 16_000
    """How many tokens its model is shown at once, what it may answer included."""
    answer_tokens: Annotated[int, Meta(ge=64, le=100_000)] = 2_000
    """How many tokens one answer of its model may have."""
    approve_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 600.0
    """For how long a person can say yes to what it wants to do that cannot be taken back."""


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    learn: bool = False
    """Whether suggestions that people took are remembered, here and for their tenant alone, and go before others."""
    vectors: Literal["auto", "off"] = "auto"
    """Whether the search compares meanings as well as words: `auto` does where the extra `vectors` is installed."""


class Sessions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    idle_days: Annotated[float, Meta(gt=0, le=366)] = 30.0
    """After how many days without use a session of the shell is forgotten."""
    each: Count = 100
    """How many sessions one person keeps; one that was used only once, longest ago, makes way first."""
