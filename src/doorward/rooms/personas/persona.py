"""A persona: an AI member of rooms, read from one JSON file with a published schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import PurePath
from typing import Any, Literal

import msgspec

from doorward.config.files import BadFile
from doorward.config.published_schema import PublishedSchema, SchemaFault
from doorward.core import strictjson
from doorward.core.classification import Access, Role
from doorward.core.command import shorten
from doorward.core.model import Caller
from doorward.rooms.people import LOCAL
from doorward.store.rooms import DIRECT

_PERSONA = PublishedSchema(resources.files(__package__).joinpath("persona.schema.json").read_bytes())
PUBLISHED = _PERSONA.schema
first_fault = _PERSONA.first_fault


MAX_BYTES = 100_000
"""The largest persona file, in bytes."""
DEFAULT_CONTEXT = 16_000
DEFAULT_ANSWER = 1_024

_ID = re.compile(r"[a-z][a-z0-9-]{0,62}")
_LEVELS = {"read": Access.READ, "edit": Access.EDIT, "full": Access.FULL}


class BadPersona(BadFile):
    """A persona file that is not valid. The message names file, field and reason."""

    noun = "persona"
    default_hint = "persona.schema.json describes every field."


class _PersonaPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Base of all parts of a persona. `persona.schema.json` describes each field."""


class EnergyPool(_PersonaPart, frozen=True):
    """A persona's own energy settings; None means the default."""

    start: float | None = None
    recovery_per_second: float | None = None


class Effort(_PersonaPart, frozen=True):
    """How a persona regulates its effort."""

    models: tuple[str, ...] = ()
    sub_agent: bool = True
    recipe: str = "assistant"
    at_once: int = 5
    budget: float | None = None


class Persona(_PersonaPart, frozen=True, kw_only=True):
    persona_id: str
    display_name: str
    bio: str = ""
    model: str = "house"
    rooms: tuple[str, ...] = ()
    access: Literal["read", "edit", "full"] = "edit"
    energy: EnergyPool = EnergyPool()
    effort: Effort | None = None
    context_tokens: int = DEFAULT_CONTEXT
    answer_tokens: int = DEFAULT_ANSWER
    suggestions: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.persona_id

    @property
    def caller(self) -> Caller:
        """Its identity at the gate when it acts for nobody: itself, in no room."""
        return Caller(LOCAL, self.persona_id, "ai", _LEVELS[self.access], rooms=(), persona=True)


def is_persona_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parse_persona(text: bytes, file: str) -> Persona:
    """Parse and check one persona. `file` is its current or future name or path."""
    if not text.strip():
        raise BadPersona(file, "", "the file is empty; valid: one JSON object")
    try:
        value = strictjson.loads(text, max_bytes=MAX_BYTES)
    except strictjson.NotJson as error:
        raise BadPersona(file, "", str(error)) from error
    fault = first_fault(value) or next(_find_faults(value, PurePath(file).stem), None)
    if fault is not None:
        raise BadPersona(file, fault.field, fault.reason)
    # Not strict, because the schema counts 3.0 as an integer.
    return msgspec.convert(value, Persona, strict=False)


def _find_faults(value: dict[str, Any], stem: str) -> Iterator[SchemaFault]:
    """Check what the schema cannot express. The value fits the schema already."""
    id = value["personaId"]
    if id != stem:
        reason = f"it must be the file's name without .json, {shorten(stem)}; given {shorten(id)}"
        yield SchemaFault(("personaId",), reason)
    if id in frozenset(Role):
        yield SchemaFault(("personaId",), f"{id!r} is the name of a role; valid: any other name")
    for number, room in enumerate(value.get("rooms", ())):
        if room.startswith(DIRECT):
            reason = f"direct rooms are created with room/direct and cannot be joined by a file; given {shorten(room)}"
            yield SchemaFault(("rooms", number), reason)
    whole, answer = value.get("contextTokens", DEFAULT_CONTEXT), value.get("answerTokens", DEFAULT_ANSWER)
    if answer * 2 > whole:
        yield SchemaFault(
            ("answerTokens",), f"it must be at most half of contextTokens, {whole // 2:g}; given {answer:g}"
        )
