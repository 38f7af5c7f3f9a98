"""The command of an upstream tool. The server's texts are shown; only the operator's settings have force."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from doorward.commands.context import Context
from doorward.commands.servers import tool_description
from doorward.commands.servers.calls import call_upstream_tool
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Blocks, Command, Facts, NoUndo, describe_fault
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, CommandFailed
from doorward.core.registry import Registry
from doorward.core.tool_schema import flatten_schema
from doorward.core.validation import Validator, validator
from doorward.upstream import schema_cost
from doorward.upstream.tool_offers import ToolOffer

SLICE = "upstream"
"""The registry slice of these commands."""

_LONGEST = 86_400.0
_LONGEST_USAGE = 2_000
_LONGEST_FAULT = 300
_GRACE = 2.0
"""Seconds by which the gate's time limit exceeds the server's own, which has the clearer error message."""
_NO_UNDO = NoUndo("Doorward cannot undo what an upstream server did")
_ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


class _Arguments(dict[str, str]):
    """Passes every parameter under its own name: only the server knows its parameters."""

    def __missing__(self, key: str) -> str:
        return key


class ToolCommand(Command):
    ours = False
    private = True

    def __init__(self, offer: ToolOffer) -> None:
        definition = offer.definition
        self.offer = offer
        self._deepest: int | None = None
        self._declare(offer, tool_description.escape_schema(offer.public_definition.input_schema))
        self.version = f"{definition.digest} {offer.upstream.process_hash}"
        self.asks_first = offer.asks_first
        self.withheld = self.withheld or offer.withheld or _needs_tasks(offer)
        self.preview = self._foresee

    def _declare(self, offer: ToolOffer, schema: dict[str, Any]) -> None:
        """Declare the command. If its schema cannot be used for validation, nobody may run the command."""
        fault = "is not one of an object" if schema.get("type") != "object" else ""
        try:
            self._deepest = None if fault else schema_cost.find_depth_limit(schema)
        except schema_cost.SchemaTooCostly as error:
            fault = tool_description.to_one_line(str(error), 200)
        try:
            self._init_command(offer, _ANYTHING if fault else schema)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            fault = f"cannot be used: {tool_description.to_one_line(_describe_schema_error(error), 200)}"
            self._init_command(offer, _ANYTHING)
        if fault:
            self.withheld = f"{self.name} is blocked: the schema of its parameters {fault}."

    def _init_command(self, offer: ToolOffer, schema: dict[str, Any]) -> None:
        super().__init__(
            offer.names.canonical,
            _facts(offer),
            run=self._run,
            summary=tool_description.summarize_tool(offer),
            description=tool_description.describe_tool(offer, flatten_schema(schema).conditions),
            category=f"mcp/{offer.upstream.id}",
            schema=schema,
            arguments=_Arguments((key, key) for key in schema["properties"]),
            returns=lambda: _result_schema(offer.public_definition.output_schema),
            wire=offer.names.wire,
        )

    @property
    def usage(self) -> str:
        """Escaped and cut, since the names of parameters are the server's texts as well."""
        return tool_description.to_one_line(super().usage, _LONGEST_USAGE)

    def check(self, params: Mapping[str, Any]) -> None:
        if self._deepest is not None and schema_cost.measure_nesting(params) > self._deepest:
            raise BadParams(
                f"{self.name}: the parameters are nested {schema_cost.measure_nesting(params)} levels deep; at most"
                f" {self._deepest} are allowed, since validating deeper ones would take too long."
            )
        super().check(params)

    async def __call__(self, ctx: Context, params: Mapping[str, Any]) -> Blocks:
        blocks = await call_upstream_tool(ctx, self.offer, params)
        return blocks if self.returns is None else self._check_output(blocks)

    async def _run(self, ctx: Context, /, **params: Any) -> Blocks:
        return await self(ctx, params)

    @functools.cached_property
    def _outputs(self) -> Validator | None:
        return _validator(self.offer.definition.output_schema)

    def _check_output(self, blocks: Blocks) -> Blocks:
        """Check the answer against the tool's output schema, since clients do so and fail on a mismatch.

        An answer that does not match is a failure. Its text content for people and models is passed on.
        """
        given, outputs = blocks.structured_content, self._outputs
        if outputs is None or (given is not None and outputs.is_valid(given)):
            return blocks
        fault = "The server sent none."
        if given is not None:
            schema = self.offer.definition.output_schema or {}
            fault = describe_fault(next(outputs.iter_errors(given)), schema, "The output schema", "field")
        raise CommandFailed(
            f"The tool {self.offer.definition.name} of server {self.offer.upstream.id} was called, but its structured"
            f" content does not match its output schema. {tool_description.to_one_line(fault, _LONGEST_FAULT)}",
            hint="Its text content is passed on. Report the mismatch to the authors of the server.",
            result=Blocks(content=blocks.content),
        )

    async def _foresee(self, ctx: Context, /, **params: Any) -> EffectPreview:
        """Describe the call for the people who decide its approval, without contacting the server."""
        return EffectPreview(None, tool_description.describe_for_approval(self.offer))


class ToolCommands:
    """The commands of all upstream tools, as a slice of the registry. Unchanged commands stay the same objects."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[int, ToolCommand] = {}
        self._prepared: dict[int, ToolCommand] = {}

    def prepare(self, offer: ToolOffer) -> None:
        """Create the command of an offer ahead of `put`, so that many commands can be created in small steps."""
        self._prepared[id(offer)] = ToolCommand(offer)

    def put(self, offers: list[ToolOffer]) -> None:
        if not offers and not self._made:
            return  # most servers have no upstream tools, and need no new registry
        known = self._made | self._prepared
        made = {id(offer): known.get(id(offer)) or ToolCommand(offer) for offer in offers}
        self._registry.replace(SLICE, made.values(), {}, bare=False)
        self._made, self._prepared = made, {}

    def taken(self) -> frozenset[str]:
        """The names, folded, that are taken by anything but an upstream tool."""
        return self._registry.taken_names(beside=SLICE)

    def step_aside(self) -> None:
        """Release all names until the next `put`, so that slices with precedence can take them."""
        if self._made:
            self._registry.replace(SLICE, (), {}, bare=False)


def _facts(offer: ToolOffer) -> Facts:
    """The facts come from the operator's settings alone. A server's claim that its tool is harmless has no effect."""
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
        server_wide=True,
    )


def _result_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """The schema of the results, if it can be used."""
    return tool_description.escape_schema(schema) if schema is not None and _validator(schema) is not None else None


def _validator(schema: dict[str, Any] | None) -> Validator | None:
    if schema is None or schema.get("type") != "object":
        return None
    try:
        if schema_cost.find_depth_limit(schema) is not None:
            return None  # the server could return a value that takes forever to validate
        return validator(schema)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def _needs_tasks(offer: ToolOffer) -> str:
    """Why a tool that runs only as an MCP task cannot be called; empty for other tools."""
    execution = offer.definition.whole.get("execution")
    if not isinstance(execution, dict) or execution.get("taskSupport") != "required":
        return ""
    return (
        f"{offer.names.canonical} is blocked: its server runs it only as an MCP task (taskSupport is required),"
        " and Doorward supports only plain calls."
    )


def _describe_schema_error(error: Exception) -> str:
    """The error in a schema as a clause, with its position."""
    where, what = "", str(error)
    if isinstance(error, jsonschema_rs.ValidationError):
        where, what = ".".join(map(str, error.instance_path)), error.message
    what = what.partition("ValueError: ")[2] or what
    return f"at {where}, {what}" if where else what
