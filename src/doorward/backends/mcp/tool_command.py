"""A tool of an upstream server as a command: what the server says of it is shown, and what the operator says holds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from doorward.backends.context import Context
from doorward.backends.mcp import describing
from doorward.backends.mcp.calling import called
from doorward.command import READS_ONLY, Blocks, Command, Facts, Foreseen, NoUndo, describe_fault
from doorward.errors import BadParams, CommandFailed
from doorward.facts import Access, Effects, Safety, Tier
from doorward.registry import Registry
from doorward.upstream import effort
from doorward.upstream.offering import ToolOffer
from doorward.validation import Validator, validator

SLICE = "upstream"
"""The part of the registry that these commands are."""

_LONGEST = 86_400.0
_LONGEST_USAGE = 2_000
_LONGEST_FAULT = 300
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
    private = True

    def __init__(self, offer: ToolOffer) -> None:
        definition = offer.definition
        self.offer = offer
        self._deepest: int | None = None
        self._declare(offer, describing.parameters(offer.shown.input_schema))
        self.version = f"{definition.digest} {offer.upstream.mark}"
        self.asks_first = offer.asks_first
        self.withheld = self.withheld or offer.withheld or _needs_tasks(offer)
        self.foresee = self._foresee

    def _declare(self, offer: ToolOffer, schema: dict[str, Any]) -> None:
        """All that a command is. When nothing can be held against its schema, it is one that nobody may run."""
        fault = "is not one of an object" if schema.get("type") != "object" else ""
        try:
            self._deepest = None if fault else effort.deepest(schema)
        except effort.TooMuch as error:
            fault = describing.one_line(str(error), 200)
        try:
            self._make(offer, _ANYTHING if fault else schema)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            fault = f"cannot be used: {describing.one_line(_finding(error), 200)}"
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
            returns=lambda: _results(offer.shown.output_schema),
            wire=offer.names.wire,
        )

    @property
    def usage(self) -> str:
        """Within measure and in full view, since the names of parameters are the server's words as well."""
        return describing.one_line(super().usage, _LONGEST_USAGE)

    def check(self, params: Mapping[str, Any]) -> None:
        if self._deepest is not None and effort.nesting(params) > self._deepest:
            raise BadParams(
                f"{self.name}: the parameters are nested {effort.nesting(params)} levels deep; valid: at most"
                f" {self._deepest}, since it would take too long to hold deeper ones against its schema."
            )
        super().check(params)

    async def __call__(self, ctx: Context, params: Mapping[str, Any]) -> Blocks:
        blocks = await called(ctx, self.offer, params)
        return blocks if self.returns is None else self._as_declared(blocks)

    async def _run(self, ctx: Context, /, **params: Any) -> Blocks:
        return await self(ctx, params)

    @functools.cached_property
    def _outputs(self) -> Validator | None:
        return _validator(self.offer.definition.output_schema)

    def _as_declared(self, blocks: Blocks) -> Blocks:
        """What clients can take: they hold a success against the schema that the tool declares, and break over others.

        So an answer that is not what its tool declares is a failure. What people and models read of it is passed on.
        """
        given, outputs = blocks.structured_content, self._outputs
        if outputs is None or (given is not None and outputs.is_valid(given)):
            return blocks
        if given is None:
            fault = "it gave none"
        else:
            fault = describe_fault(next(outputs.iter_errors(given)), {}).replace("parameter ", "", 1).rstrip(".")
        raise CommandFailed(
            f"The tool {self.offer.definition.name} of server {self.offer.upstream.id} was called, and its structured"
            f" content is not what it declares: {describing.one_line(fault, _LONGEST_FAULT)}.",
            hint="What it says in words is passed on. The rest is for the makers of this server to mend.",
            result=Blocks(content=blocks.content),
        )

    async def _foresee(self, ctx: Context, /, **params: Any) -> Foreseen:
        """What people should know before they say yes; nothing is asked of the server."""
        return Foreseen(None, describing.for_approval(self.offer))


class ToolCommands:
    """The commands of all upstream tools, as a slice of the registry. What did not change stays the same object."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[int, ToolCommand] = {}
        self._prepared: dict[int, ToolCommand] = {}

    def prepare(self, offer: ToolOffer) -> None:
        """Make the command of an offer that is about to be put, so that many can be made a few at a time."""
        self._prepared[id(offer)] = ToolCommand(offer)

    def put(self, offers: list[ToolOffer]) -> None:
        if not offers and not self._made:
            return  # most houses have no such commands, and need not pay for them
        known = self._made | self._prepared
        made = {id(offer): known.get(id(offer)) or ToolCommand(offer) for offer in offers}
        self._registry.replace(SLICE, made.values(), {}, bare=False)
        self._made, self._prepared = made, {}

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
    return describing.parameters(schema) if schema is not None and _validator(schema) is not None else None


def _validator(schema: dict[str, Any] | None) -> Validator | None:
    if schema is None or schema.get("type") != "object":
        return None
    try:
        if effort.deepest(schema) is not None:
            return None  # its server could give what takes for ever to hold against it
        return validator(schema)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def _needs_tasks(offer: ToolOffer) -> str:
    """Why a tool cannot be called that runs only as a task of MCP, which Doorward does not start; else empty."""
    execution = offer.definition.whole.get("execution")
    if not isinstance(execution, dict) or execution.get("taskSupport") != "required":
        return ""
    return (
        f"Nobody may run {offer.names.canonical}: its server runs it only as a task of MCP (taskSupport is required),"
        " and Doorward makes plain calls only."
    )


def _finding(error: Exception) -> str:
    """What is wrong with a schema, as a clause: where, and what."""
    where, what = "", str(error)
    if isinstance(error, jsonschema_rs.ValidationError):
        where, what = ".".join(map(str, error.instance_path)), error.message
    what = what.partition("ValueError: ")[2] or what
    return f"at {where}, {what}" if where else what
