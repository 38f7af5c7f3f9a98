"""A command: everything about it declared in one place, and complete or it does not import."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import jsonschema_rs
import msgspec

from doorward import names
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.signatures import result_schema, signature_schema
from doorward.validation import Validator, validator

_JSON_WORDS = {None: "null", True: "true", False: "false"}

Run = Callable[..., Awaitable[Any]]
"""`async def run(ctx, **params)`; the result is anything that has a JSON form."""
Returns = Callable[[], dict[str, Any] | None]
"""Works out the schema of a result."""
Meant = Callable[[Any, Mapping[str, Any]], tuple[str, Mapping[str, Any]] | None]
"""From the registry and well-formed parameters to the command that is meant and its parameters; None: there is none."""
FindSecrets = Callable[[Mapping[str, Any]], Iterable[str]]
"""From parameters to the secrets in them that are told by no name of a parameter."""


class Example(msgspec.Struct, frozen=True):
    """One use of a command: what somebody wants, and the parameters that give it."""

    says: str
    params: Mapping[str, Any]


class Foreseen(msgspec.Struct, frozen=True):
    """What a call would do, worked out before people are asked about it, so that they approve just that."""

    effect: bytes | None
    """For the command: what it shall do when it is approved, or must find unchanged then. None: it just runs."""
    shown: str
    """For people: the difference it makes."""


class Blocks(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A result in the blocks of MCP (texts, images, sounds, links, resources), as another server gave them."""

    content: list[dict[str, Any]]
    structured_content: Any = None
    """The same for programs; None when there is nothing of the kind."""


class Undo(msgspec.Struct, frozen=True):
    """Changes are kept as before-images of this kind, which an undoer of the same kind can restore.

    The kind `*` is for `undo` itself: what it leaves is of the kind it restored.
    """

    kind: str


class NoUndo(msgspec.Struct, frozen=True):
    """The explicit statement that there is nothing to take back, or no way to."""

    why: str


READS_ONLY = NoUndo("it changes nothing")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What must be known of a command before anybody may be offered it. No safety fact has a default."""

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
    house_wide: bool = False
    """It shows or changes something that all tenants share, so only the tenant that owns the house may run it."""
    tells_how_it_stands: bool = False
    """It says how something stands by now, so that asking the same again and again is no loop."""
    thinks: bool = False
    """It is told in words what to do: calls inside it are the keeper's, and nobody foresaw them."""
    works_by_calls: bool = False
    """Whatever it changes, it changes by calls inside its own; a person who must be asked is asked about those."""
    once_by: str = ""
    """The parameter that takes a key of the caller's: the same call again with the same key does nothing twice."""
    reveals: str = ""
    """The command whose rights a caller needs before a dry run may show it the effect."""


class Command:
    """A named, typed, classified thing that can be done."""

    ours = True
    """Whether its words are Doorward's or a plugin's, which must be complete; what somebody else says is taken as it
    comes."""

    private = False
    """Whether it exists only for the tenant that owns the house: others do not even learn that there is such a name."""

    unlisted = False
    """Whether it is left out of lists of tools: a client reaches it by another method of its protocol."""

    def __init__(
        self,
        name: str,
        facts: Facts,
        *,
        run: Run,
        summary: str,
        description: str,
        category: str,
        schema: dict[str, Any],
        arguments: Mapping[str, str],
        returns: Returns | None = None,
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
        self.effect: Run | None = None
        self.foresee: Run | None = None
        self.find_secrets: FindSecrets | None = None
        self.meant: Meant | None = None
        """Which command is meant, where this one only puts it in other words; see `means`."""
        self.words = ""
        """The parameter that takes, as a list, what a person types behind the name of a program; empty for none."""
        self.beside_words: tuple[str, ...] = ()
        """Parameters that can be given by name beside such words."""
        self.version = ""
        """Tells a declaration from another under the same name, where declarations can change while Doorward runs."""
        self.reads_only = not facts.effects & (Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD)
        self.wire = wire or names.wire_name(name)
        self.asks_first = False
        """Whether agents and programs need a person's approval for every call, whatever a recipe says or leaves out."""
        self.withheld = ""
        """Why nobody may run it for now, as a sentence; empty when it is in force."""
        if not self.ours:
            _ = self._validator  # what somebody else wrote may be no schema at all, which must show now
        _complete(self)

    def __repr__(self) -> str:
        return f"Command({self.name!r})"

    @functools.cached_property
    def returns(self) -> dict[str, Any] | None:
        """The JSON Schema of what `as_object` makes of its result; None when its type says nothing.

        It is worked out when somebody wants to see it: most short-lived processes never do.
        """
        return self._returns() if self._returns is not None else None

    @functools.cached_property
    def _validator(self) -> Validator:
        """Made when it is first needed, if the schema is ours: most processes run few of the commands they know."""
        return validator(self.schema)

    def shows_effect(self, effect: Run) -> Run:
        """Decorator: `effect` tells, for a dry run, what the command would do, and does nothing."""
        self.effect = effect
        return effect

    def foresees(self, foresee: Run) -> Run:
        """Decorator: `foresee` works out, changing nothing, the effect that people shall approve, as `Foreseen`."""
        self.foresee = foresee
        return foresee

    def finds_secrets(self, find: FindSecrets) -> FindSecrets:
        """Decorator: `find` gives the secrets among parameters whose names do not tell, such as lines of a shell.

        It is given parameters as they came, which need not fit the schema.
        """
        self.find_secrets = find
        return find

    def secrets_in(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """The secrets among these parameters that no name of a parameter tells of."""
        return tuple(self.find_secrets(params)) if self.find_secrets is not None else ()

    def means(self, meant: Meant) -> Meant:
        """Decorator: the command only puts another one in other words, and `meant` tells which, and its parameters.

        The gate then judges, runs and records that one. Where `meant` finds none, the command itself runs and says why.
        """
        self.meant = meant
        return meant

    def check(self, params: Mapping[str, Any]) -> None:
        """Refuse parameters that do not fit the schema, naming the first fault in a full sentence."""
        if self._validator.is_valid(params):
            return
        raise BadParams(
            f"{self.name}: {describe_fault(next(self._validator.iter_errors(params)), self.schema)}",
            hint=f"Parameters: {self.usage}",
        )

    @property
    def usage(self) -> str:
        """The parameters on one line: required ones bare, optional ones in brackets."""
        return self._usage(self.schema.get("required", []))

    def _usage(self, required: Sequence[str]) -> str:
        words = [
            f"--{key}=<{_type_word(spec)}>" if key in required else f"[--{key}=<{_type_word(spec)}>]"
            for key, spec in self.schema["properties"].items()
        ]
        return " ".join(words) or "none"

    def __call__(self, ctx: Any, params: Mapping[str, Any]) -> Awaitable[Any]:
        return self.run(ctx, **{self.arguments[key]: value for key, value in params.items()})


class Undoer(msgspec.Struct, frozen=True):
    """Restores one kind of before-image; see `backends/undo.py`."""

    kind: str
    restore: Run


class Family:
    """Commands that belong together, in one file: `area/verb` for one area."""

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
        house_wide: bool = False,
        tells_how_it_stands: bool = False,
        thinks: bool = False,
        works_by_calls: bool = False,
        once_by: str = "",
        reveals: str = "",
        secret: Sequence[str] = (),
        wire: str = "",
    ) -> Callable[[Run], Command]:
        """Declare the decorated function as the command `area/verb` (or `verb` when the area is empty).

        `wire` is what doors that know no slash call it, where that is not its own name with an underscore.
        """
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
            house_wide=house_wide,
            tells_how_it_stands=tells_how_it_stands,
            thinks=thinks,
            works_by_calls=works_by_calls,
            once_by=once_by,
            reveals=reveals,
        )

        def declare(run: Run) -> Command:
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

    def undoer(self, kind: str) -> Callable[[Run], Run]:
        """Declare the decorated function as what restores before-images of this kind."""

        def declare(restore: Run) -> Run:
            self.undoers.append(Undoer(kind, restore))
            return restore

        return declare


def as_builtins(result: Any) -> Any:
    """A result in plain values. Blocks stay what they are: they hold plain values already, and doors must know them."""
    return result if type(result) is Blocks else msgspec.to_builtins(result)


def as_object(result: Any) -> dict[str, Any]:
    """A result where only an object can stand: itself, or the one value of an object."""
    if type(result) is Blocks:
        result = msgspec.to_builtins(result)
    return result if isinstance(result, dict) else {"result": result}


def describe_fault(fault: jsonschema_rs.ValidationError, schema: Mapping[str, Any], *, private: bool = False) -> str:
    """A validator's finding as a sentence: where, what is wrong, what would be valid and, unless `private`, what was
    given."""
    where = ".".join(str(step) for step in fault.instance_path)
    keyword = fault.kind.name
    if keyword == "additionalProperties":
        known = list(schema.get("properties", {}))
        given = ", ".join(repr(name) for name in fault.kind.as_dict()["unexpected"])
        inside = f" in {where}" if where else ""
        valid = "only the documented ones" if where else ", ".join(known) or "none"
        return f"unknown parameter {given}{inside}; valid: {valid}."
    if keyword == "required":
        return f"parameter {fault.kind.as_dict()['property']!r} is missing{f' in {where}' if where else ''}."
    given = "" if private else f"; given {shortened(fault.instance)}"
    return f"parameter {where or 'object'}: {fault.message}{given}."


def shortened(value: Any, limit: int = 80) -> str:
    """A value as it may stand in an error sentence: never long, never with control characters."""
    text = _JSON_WORDS[value] if value is None or isinstance(value, bool) else repr(value)
    length = len(value if isinstance(value, str) else text)
    return text if len(text) <= limit else f"{text[:limit]}… ({length} characters)"


def _type_word(spec: Any) -> str:
    if not isinstance(spec, dict):  # true, which a schema can be as well
        return "value"
    if "enum" in spec:
        return "|".join(str(value) for value in spec["enum"])
    kind = spec.get("type")
    if isinstance(kind, str):
        return kind
    if "anyOf" in spec:
        return "|".join(_type_word(one) for one in spec["anyOf"] if one != {"type": "null"})
    return "value"


def _complete(command: Command) -> None:
    """Break at import when a fact that safety stands on is missing or contradicts another."""
    facts = command.facts
    problems = []
    if not names.is_canonical(command.name):
        problems.append("the name is not area/verb in lower case")
    if not names.WIRE.fullmatch(command.wire):
        problems.append(f"its wire name {command.wire!r} is not one that every door takes")
    if not command.summary:
        problems.append("the function has no docstring")
    if command.ours and not facts.examples:
        problems.append("there is no example")
    if facts.cost < 0 or not 0 < facts.timeout <= 86_400:
        problems.append("cost must be at least 0 and timeout between 0 and 86400 seconds")
    if not facts.effects:
        problems.append("no effect is declared, not even reading")
    if facts.tier is Tier.INFORMATION and not command.reads_only:
        problems.append("the information tier is for commands that only read")
    if isinstance(facts.undo, Undo) and command.reads_only:
        problems.append("it declares an undo but no change")
    if facts.undo is READS_ONLY and not command.reads_only:
        problems.append("it can change something, so its missing undo needs a reason of its own")
    if facts.once_by and facts.once_by not in command.schema["properties"]:
        problems.append(f"it is done once by {facts.once_by!r}, which is none of its parameters")
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
