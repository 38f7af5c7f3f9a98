"""Declaration of commands. Everything about a command is in one place; a missing safety fact breaks the import."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from jsonschema_rs import ValidationError

from doorward.core import names
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.errors import BadParams
from doorward.core.schema_words import closest_fault, names_around, requirement, usage_line
from doorward.core.signatures import result_schema, signature_schema
from doorward.core.validation import Validator, validator

_JSON_WORDS = {None: "null", True: "true", False: "false"}

RunFunction = Callable[..., Awaitable[Any]]
"""`async def run(ctx, **params)`. The result is any value with a JSON form."""
ResultSchema = Callable[[], dict[str, Any] | None]
"""Computes the schema of a result."""
FindAliased = Callable[[Any, Mapping[str, Any]], tuple[str, Mapping[str, Any]] | None]
"""From the registry and valid parameters to the command that an alias stands for, and its parameters, or None."""
FindParts = Callable[[Mapping[str, Any]], Iterable[tuple["Command", Mapping[str, Any]]]]
"""From valid parameters to the calls that a call is made of."""
FindSecrets = Callable[[Mapping[str, Any]], Iterable[str]]
CheckParams = Callable[[Mapping[str, Any]], None]
"""From parameters to the secrets in them that no parameter name reveals."""


class Example(msgspec.Struct, frozen=True):
    """One use of a command: a request in plain words, and its parameters."""

    says: str
    params: Mapping[str, Any]


class Blocks(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A result in MCP content blocks (text, image, audio, link, resource), from an upstream server."""

    content: list[dict[str, Any]]
    structured_content: Any = None
    """The structured form of the same result, if there is one."""


class Undo(msgspec.Struct, frozen=True):
    """It keeps before-images of this kind for an undoer of the same kind. `*` is for `undo`: the kind it restored."""

    kind: str


class NoUndo(msgspec.Struct, frozen=True):
    """The explicit statement that the command cannot be undone, and why."""

    why: str


READS_ONLY = NoUndo("it changes nothing")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The declared facts of a command. No safety fact has a default."""

    tier: Tier
    effects: Effects
    access: Access
    safety: Safety
    cost: float
    timeout: float
    undo: Undo | NoUndo
    examples: tuple[Example, ...]
    related: tuple[str, ...] = ()
    humans_only: bool = False
    server_wide: bool = False
    """It reads or changes what all tenants share, so only the owner's tenant may run it."""
    is_status_poll: bool = False
    """It reads a status that changes by itself, so that polling it is no loop."""
    widens_access: bool = False
    """It can widen what somebody may do: besides people only the keeper may run it, with approval for every call."""
    proposable: bool = False
    """An AI without the access may ask for it, where its room's recipe allows that: every such call waits for a person
    who has the access."""
    runs_agent: bool = False
    """It runs the keeper on a request in plain words: calls inside it are the keeper's."""
    nests_calls: bool = False
    """It changes things only by nested calls. Approvals are asked for those."""
    idempotency_param: str = ""
    """The parameter that holds the caller's idempotency key."""
    reveals: str = ""
    """The command that a caller must be allowed to run before a dry run shows it the effect."""


class Command:
    """A named, typed, classified command."""

    ours = True
    """Whether the declaration is Doorward's or a plugin's and so must be complete. Upstream tools may lack texts."""

    private = False
    """Whether it exists only for the owner's tenant. Other tenants do not learn its name."""

    unlisted = False
    """Whether tool lists leave it out, because clients reach it by another protocol method."""

    def __init__(
        self,
        name: str,
        facts: Facts,
        *,
        run: RunFunction,
        summary: str,
        description: str,
        category: str,
        schema: dict[str, Any],
        arguments: Mapping[str, str],
        returns: ResultSchema | None = None,
        secret: frozenset[str] = frozenset(),
        wire: str = "",
    ) -> None:
        self.name = name
        self.facts = facts
        self.run = run
        self.summary = summary
        self.description = description
        self.category = category
        self.schema = schema
        self.arguments = arguments
        """Parameter name on the wire to the function's argument name."""
        self._returns = returns
        self.secret = secret
        """Parameters whose values are never recorded."""
        self.effect: RunFunction | None = None
        self.preview: RunFunction | None = None
        self.runs_trial = False
        """Whether the preview runs the command itself, on a copy that is thrown away."""
        self.check_more: CheckParams | None = None
        """Checks parameters beyond the schema; see `checks`."""
        self.find_secrets: FindSecrets | None = None
        self.find_aliased: FindAliased | None = None
        """Finds the command that this one is an alias of; see `aliases`."""
        self.find_parts: FindParts | None = None
        """Finds the calls that a call is made of, if it stands for several. The gate judges each of them too."""
        self.part_parameters: frozenset[str] = frozenset()
        """Parameters of these calls that rules for this command can name. Every part must then fit."""
        self.words = ""
        """The list parameter that takes the words a person types after a program's name; empty for none."""
        self.path_parameter = ""
        """The parameter that names a path in the workspace, which the gate gives one spelling; empty for none."""
        self.content_parameters: tuple[str, ...] = ()
        """Parameters that hold what is written to that path. A lasting answer about the path leaves them free."""
        self.beside_words: tuple[str, ...] = ()
        """Parameters that can be given by name together with such words."""
        self.version = ""
        """Distinguishes declarations under the same name, where they can change while Doorward runs."""
        self.reads_only = not facts.effects & (Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD)
        self.wire = wire or names.wire_name(name)
        self.equivalent = ""
        """The command whose rules in a recipe apply where the recipe does not name this one; empty for none."""
        self.asks_first = facts.proposable
        """Whether agents and programs need approval for every call, whatever the recipe says."""
        self.approves_effect = False
        """Whether an approval is only for the effect that it showed, so that no answer covers later calls."""
        self.needs_preview = False
        """Whether a call is refused, and nobody is asked for approval, if its effect cannot be previewed."""
        self.preview_seconds = 0.0
        """The time limit of its preview, if it is more than the setting says."""
        self.withheld = ""
        """Why nobody may run it now, as a sentence; empty when it is available."""
        if not self.ours:
            _ = self._validator  # an invalid upstream schema must fail now
        _check_complete(self)

    def __repr__(self) -> str:
        return f"Command({self.name!r})"

    @functools.cached_property
    def returns(self) -> dict[str, Any] | None:
        """The JSON Schema of the result as `to_object` gives it; None when the type says nothing.

        Computed on demand: most short-lived processes never need it.
        """
        return self._returns() if self._returns is not None else None

    @functools.cached_property
    def _validator(self) -> Validator:
        """Compiled on first use: most processes run few commands."""
        return validator(self.schema)

    def describes_effect(self, effect: RunFunction) -> RunFunction:
        """Decorator: `effect` describes for a dry run what the command would do. It changes nothing."""
        self.effect = effect
        return effect

    def previews_effect(self, foresee: RunFunction) -> RunFunction:
        """Decorator: `foresee` previews the effect for approval, without changing anything."""
        self.preview = foresee
        return foresee

    def checks(self, check: CheckParams) -> CheckParams:
        """Decorator: `check` raises BadParams for parameters that fit the schema and are still not valid."""
        self.check_more = check
        return check

    def finds_secrets(self, find: FindSecrets) -> FindSecrets:
        """Decorator: `find` gives the secrets in parameters whose names do not reveal them, such as shell lines.

        Its parameters are not validated yet.
        """
        self.find_secrets = find
        return find

    def secrets_in(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """The secrets in these parameters that no parameter name reveals."""
        return tuple(self.find_secrets(params)) if self.find_secrets is not None else ()

    def parts_of(self, params: Mapping[str, Any]) -> list[tuple[Command, Mapping[str, Any]]]:
        """The calls that a call with these parameters is made of; none for most commands. Raises BadParams."""
        return list(self.find_parts(params)) if self.find_parts is not None else []

    def aliases(self, meant: FindAliased) -> FindAliased:
        """Decorator: this command is an alias, and `meant` finds the command and parameters it stands for.

        The gate then authorizes, runs and records that command. When `meant` finds none, the alias itself runs.
        """
        self.find_aliased = meant
        return meant

    def check(self, params: Mapping[str, Any]) -> None:
        """Refuse parameters that do not match the schema, with a sentence about the first fault."""
        if self._validator.is_valid(params):
            if self.check_more is not None:
                self.check_more(params)
            return
        raise BadParams(
            describe_fault(next(self._validator.iter_errors(params)), self.schema, self.name),
            hint=f"Parameters: {self.usage}",
        )

    @property
    def usage(self) -> str:
        """The parameters on one line: required ones bare, optional ones in brackets."""
        return usage_line(self.schema, self.schema.get("required", []))

    def __call__(self, ctx: Any, params: Mapping[str, Any]) -> Awaitable[Any]:
        return self.run(ctx, **{self.arguments[key]: value for key, value in params.items()})


class Undoer(msgspec.Struct, frozen=True):
    """Restores one kind of before-image; see `commands/undo.py`."""

    kind: str
    restore: RunFunction


class Family:
    """A family of commands, `area/verb`, declared in one file."""

    def __init__(self, area: str, *, category: str) -> None:
        self.area = area
        self.category = category
        self.commands: list[Command] = []
        self.undoers: list[Undoer] = []

    def command(
        self,
        verb: str,
        *,
        tier: Tier,
        effects: Effects,
        access: Access,
        safety: Safety,
        cost: float,
        timeout: float,
        undo: Undo | NoUndo,
        examples: Sequence[Example],
        related: Sequence[str] = (),
        humans_only: bool = False,
        server_wide: bool = False,
        is_status_poll: bool = False,
        widens_access: bool = False,
        proposable: bool = False,
        runs_agent: bool = False,
        nests_calls: bool = False,
        idempotency_param: str = "",
        reveals: str = "",
        secret: Sequence[str] = (),
        wire: str = "",
    ) -> Callable[[RunFunction], Command]:
        """Declare the decorated function as a command. `wire` overrides the name for doors that allow no slash."""
        facts = Facts(
            tier=tier,
            effects=effects,
            access=access,
            safety=safety,
            cost=cost,
            timeout=timeout,
            undo=undo,
            examples=tuple(examples),
            related=tuple(related),
            humans_only=humans_only,
            server_wide=server_wide,
            is_status_poll=is_status_poll,
            widens_access=widens_access,
            proposable=proposable,
            runs_agent=runs_agent,
            nests_calls=nests_calls,
            idempotency_param=idempotency_param,
            reveals=reveals,
        )

        def declare(run: RunFunction) -> Command:
            text = inspect.getdoc(run) or ""
            schema, arguments = signature_schema(run)
            command = Command(
                f"{self.area}/{verb}" if self.area else verb,
                facts,
                run=run,
                summary=text.partition("\n")[0],
                description=text,
                category=self.category,
                schema=schema,
                arguments=arguments,
                returns=functools.partial(result_schema, run),
                secret=frozenset(secret),
                wire=wire,
            )
            self.commands.append(command)
            return command

        return declare

    def undoer(self, kind: str) -> Callable[[RunFunction], RunFunction]:
        """Declare the decorated function as the undoer of this kind."""

        def declare(restore: RunFunction) -> RunFunction:
            self.undoers.append(Undoer(kind, restore))
            return restore

        return declare


def to_builtins(result: Any) -> Any:
    """Convert a result to plain values. Blocks stay: they hold plain values already, and doors must recognise them."""
    return result if type(result) is Blocks else msgspec.to_builtins(result)


def to_object(result: Any) -> dict[str, Any]:
    """Wrap a result that is not an object into one."""
    if type(result) is Blocks:
        result = msgspec.to_builtins(result)
    return result if isinstance(result, dict) else {"result": result}


def describe_fault(
    fault: ValidationError, schema: Mapping[str, Any], subject: str, noun: str = "parameter", *, private: bool = False
) -> str:
    """Describe a schema violation in full sentences: the fault, the valid values and, unless `private`, the given one.

    `subject` is what has the schema, such as a command, and `noun` what it calls its values.
    """
    fault = closest_fault(fault)
    where = ".".join(str(step) for step in fault.instance_path)
    inside = f" in {where}" if where else ""
    detail = fault.kind.as_dict()
    if "unexpected" in detail:
        unknown = [shorten(name) for name in detail["unexpected"]]
        wrong = f"Unknown {noun}{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}{inside}."
    elif fault.kind.name == "required":
        wrong = f"Missing {noun} {shorten(detail['property'])}{inside}."
    else:
        what = f"{noun} {where}" if where else f"its {noun}s"
        must = requirement(fault)
        given = "" if private else f"; given {shorten(fault.instance)}"
        return f"{subject}: {what} {f'must {must}' if must else f'is not valid: {fault.message}'}{given}."
    known = names_around(fault, schema)
    if where and not known:
        return wrong
    return f"{wrong} {where or subject} takes {', '.join(known) or f'no {noun}s'}."


def shorten(value: Any, limit: int = 80) -> str:
    """Format a value for an error sentence: short, without control characters."""
    text = _JSON_WORDS[value] if value is None or isinstance(value, bool) else repr(value)
    length = len(value if isinstance(value, str) else text)
    return text if len(text) <= limit else f"{text[:limit]}… ({length} characters)"


def _check_complete(command: Command) -> None:
    """Break the import when a safety fact is missing or contradicts another."""
    facts = command.facts
    problems = []
    if not names.is_canonical(command.name):
        problems.append("the name is not area/verb in lower case")
    if not names.WIRE.fullmatch(command.wire):
        problems.append(f"its wire name {command.wire!r} is not valid at every door")
    if not command.summary:
        problems.append("the function has no docstring")
    if command.ours and not facts.examples:
        problems.append("there is no example")
    if facts.cost < 0 or not 0 < facts.timeout <= 86_400:
        problems.append("cost must be at least 0 and timeout between 0 and 86400 seconds")
    if not facts.effects:
        problems.append("no effect is declared, not even read")
    if facts.tier is Tier.INFORMATION and not command.reads_only:
        problems.append("the information tier is for commands that only read")
    if isinstance(facts.undo, Undo) and command.reads_only:
        problems.append("it declares an undo but no change")
    if facts.undo is READS_ONLY and not command.reads_only:
        problems.append("it can change something, so NoUndo needs its own reason")
    if facts.idempotency_param and facts.idempotency_param not in command.schema["properties"]:
        problems.append(f"idempotency_param names {facts.idempotency_param!r}, which is not a parameter")
    for key, spec in command.schema["properties"].items():
        if command.ours and not spec.get("description"):
            problems.append(f"parameter {key} has no description")
    for example in facts.examples:
        try:
            command.check(example.params)
        except BadParams as fault:
            problems.append(f"example {example.says!r} does not fit: {fault}")
    if problems:
        raise TypeError(f"command {command.name}: {'; '.join(problems)}")
