"""A tool of an upstream server as a command: what the server says of it is shown, and what the operator says holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from doorward.backends.context import Context
from doorward.backends.mcp import describing
from doorward.backends.mcp.calling import called
from doorward.command import READS_ONLY, Blocks, Command, Facts, Foreseen, NoUndo
from doorward.facts import Access, Effects, Safety, Tier
from doorward.registry import Registry
from doorward.upstream.offering import ToolOffer

SLICE = "upstream"
"""The part of the registry that these commands are."""

_LONGEST = 86_400.0
_LONGEST_USAGE = 2_000
_GRACE = 2.0
"""Seconds by which the gate's time limit is behind the server's own, whose sentence is the clearer one."""
_NO_UNDO = NoUndo("what a server of others did cannot be taken back from here")
_ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


class _Arguments(dict[str, str]):
    """Every parameter goes under its own name, whatever that is: the server knows them, not we."""

    def __missing__(self, key: str) -> str:
        return key


class ToolCommand(Command):
    ours = False

    def __init__(self, offer: ToolOffer) -> None:
        definition = offer.definition
        self.offer = offer
        self._declare(offer, describing.parameters(offer.shown.input_schema))
        self.version = definition.digest
        self.asks_first = offer.asks_first
        self.withheld = self.withheld or offer.withheld
        self.foresee = self._foresee

    def _declare(self, offer: ToolOffer, schema: dict[str, Any]) -> None:
        """All that a command is. When nothing can be held against its schema, it is one that nobody may run."""
        fault = "is not one of an object" if schema.get("type") != "object" else ""
        try:
            self._make(offer, _ANYTHING if fault else schema)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            found = str(error).partition("ValueError: ")[2] or str(error)
            fault = f"cannot be used: {describing.one_line(found, 200)}"
            self._make(offer, _ANYTHING)
        if fault:
            self.withheld = f"Nobody may run {self.name}, because the schema of its parameters {fault}."

    def _make(self, offer: ToolOffer, schema: dict[str, Any]) -> None:
        super().__init__(
            offer.names.canonical,
            _facts(offer),
            run=self._run,
            summary=describing.summary(offer),
            description=describing.description(offer),
            category=f"mcp/{offer.upstream.id}",
            schema=schema,
            arguments=_Arguments((key, key) for key in schema["properties"]),
            returns=_results(offer.shown.output_schema),
            wire=offer.names.wire,
        )

    @property
    def usage(self) -> str:
        """Within measure and in full view, since the names of parameters are the server's words as well."""
        return describing.one_line(super().usage, _LONGEST_USAGE)

    async def __call__(self, ctx: Context, params: Mapping[str, Any]) -> Blocks:
        return await called(ctx, self.offer, params)

    async def _run(self, ctx: Context, /, **params: Any) -> Blocks:
        return await called(ctx, self.offer, params)

    async def _foresee(self, ctx: Context, /, **params: Any) -> Foreseen:
        """What people should know before they say yes; nothing is asked of the server."""
        return Foreseen(None, describing.for_approval(self.offer))


class ToolCommands:
    """The commands of all upstream tools, as a slice of the registry. What did not change stays the same object."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[int, ToolCommand] = {}

    def put(self, offers: list[ToolOffer]) -> None:
        if not offers and not self._made:
            return  # most houses have no such commands, and need not pay for them
        made = {id(offer): self._made.get(id(offer)) or ToolCommand(offer) for offer in offers}
        self._registry.replace(SLICE, made.values(), {}, bare=False)
        self._made = made

    def taken(self) -> frozenset[str]:
        """The names, folded, that mean something else than a tool of a server."""
        return self._registry.spoken_for(beside=SLICE)

    def step_aside(self) -> None:
        """Claim no name until the next `put`, so that whoever goes before these commands can take any."""
        if self._made:
            self._registry.replace(SLICE, (), {}, bare=False)


def _facts(offer: ToolOffer) -> Facts:
    """By the operator's word alone: a server that calls its tool harmless changes nothing."""
    reads = offer.tier is Tier.INFORMATION
    return Facts(
        tier=offer.tier,
        effects=Effects.READ if reads else Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD,
        access=Access.READ if reads else Access.EDIT,
        safety=Safety.CAUTION,
        cost=offer.cost,
        timeout=min(_LONGEST, offer.timeout + _GRACE),
        undo=READS_ONLY if reads else _NO_UNDO,
        examples=(),
        house_wide=True,
    )


def _results(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """The schema of what it gives, if that can be used."""
    if schema is None or schema.get("type") != "object":
        return None
    try:
        jsonschema_rs.Draft202012Validator(schema, retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, jsonschema_rs.ReferencingError):
        return None
    return describing.parameters(schema)


def _refuse(uri: str) -> Any:
    raise ValueError(f"it refers to {uri!r}, and remote references are not followed")
