"""The declaration of built-ins of the session shell.

A built-in takes its arguments, its piped input and its session, and returns its output. It reads and changes everything
except the session through other commands, so a shell line can never do more than its caller may do.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo, Undo, shorten
from doorward.core.errors import DoorwardError
from doorward.shell.builtins.options import BuiltinOptions, OptionParser, UsageError
from doorward.shell.builtins.run import BuiltinResult, BuiltinRun, make_result
from doorward.shell.secret_values import secrets_in_args
from doorward.shell.vfs.schema import UNDO_BY_INNER_CALLS

family = Family("sh", category="session shell")

Words = Annotated[list[str], Meta(description="The arguments, as typed", max_length=10_000)]
Input = Annotated[str, Meta(description="The piped input")]
Columns = Annotated[
    int,
    Meta(description="Width of the screen in columns; 0: output to a pipe or a file", ge=0, le=1_000),
]
SessionId = Annotated[str, Meta(description="The id of the session; empty: a temporary one", max_length=64)]

BuiltinFunction = Callable[[BuiltinRun, BuiltinOptions], Awaitable[None]]


class BuiltinFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The safety facts of a built-in, as every command declares them."""

    tier: Tier = Tier.INFORMATION
    effects: Effects = Effects.READ
    access: Access = Access.READ
    safety: Safety = Safety.SAFE
    undo: Undo | NoUndo = READS_ONLY
    timeout: float = 60


READ_ONLY = BuiltinFacts()
"""It shows something, or changes its session, which nobody else sees."""
WRITES = BuiltinFacts(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    undo=UNDO_BY_INNER_CALLS,
)
REPLACES = BuiltinFacts(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.CAUTION,
    undo=UNDO_BY_INNER_CALLS,
)
REMOVES = BuiltinFacts(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    undo=UNDO_BY_INNER_CALLS,
)
STORES = BuiltinFacts(
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    undo=UNDO_BY_INNER_CALLS,
)
READ_SYSTEM = BuiltinFacts(tier=Tier.SYSTEM)
"""It shows something that requires the system tier."""


class Builtin(msgspec.Struct, frozen=True):
    """A built-in word and its help."""

    word: str
    command: str
    usage: str
    group: str
    summary: str
    description: str
    options: Mapping[str, str]
    example: str


_OPTION = re.compile(r"\[-[^\]]*\]")
"""An option in a usage line; when the line has nothing else, the built-in takes no arguments."""
BUILTINS_BY_WORD: dict[str, Builtin] = {}
"""All built-ins by word, in the order of their declaration."""
GROUPS = (
    "Files and folders",
    "Text and values",
    "This session",
    "Data",
    "Rooms and people",
    "Executions",
    "Server",
    "Help",
)


def builtin(
    word: str,
    usage: str,
    example: Sequence[str] = (),
    *,
    group: str,
    kind: BuiltinFacts = READ_ONLY,
    options: Mapping[str, str] | None = None,
    number: str = "",
    raw: bool = False,
    also: Sequence[str] = (),
    input: str = "",
    says: str = "",
) -> Callable[[BuiltinFunction], BuiltinFunction]:
    """Declare the decorated function as a built-in; its docstring is its help.

    `usage` is the usage line without the word. With `raw` the built-in gets all words unparsed and has no options, not
    even `--help`. `also` lists other words for the same built-in.
    """
    grammar = OptionParser({} if raw else options or {}, number)

    def declare(does: BuiltinFunction) -> BuiltinFunction:
        async def run(
            ctx: Context,
            args: Words = [],  # noqa: B006 - it is read only
            input: Input = "",
            session: SessionId = "",
            columns: Columns = 0,
        ) -> BuiltinResult:
            if not raw and "--help" in args[:1]:
                return make_result(render_manual(BUILTINS_BY_WORD[word]))
            opened = await ctx.services.sessions.open(ctx.caller, ctx.call.room, session)
            unkept: list[str] = []
            async with ctx.services.sessions.use(opened, stored=bool(session), tell=unkept.append) as held:
                speaker = BuiltinRun(ctx, word, held, input, columns)
                said = await _run_builtin(speaker, does, args, None if raw else grammar)
            said["stderr"] += "".join(f"{word}: {one}\n" for one in unkept)
            return said

        run.__doc__ = does.__doc__
        params: dict[str, Any] = {"args": list(example)} | ({"input": input} if input else {})
        command = family.command(
            word,
            tier=kind.tier,
            effects=kind.effects,
            access=kind.access,
            safety=kind.safety,
            cost=0,
            timeout=kind.timeout,
            undo=kind.undo,
            examples=[Example(says or f"{' '.join((word, *example))} in a shell session", params)],
            is_status_poll=True,
            nests_calls=True,
        )(run)
        command.unlisted = True
        command.finds_secrets(functools.partial(secrets_in_args, word))
        for one in (word, *also):
            BUILTINS_BY_WORD[one] = Builtin(
                word=one,
                command=command.name,
                usage=f"{one} {usage}".strip(),
                group=group,
                summary=command.summary,
                description=command.description,
                options=options or {},
                example=" ".join((one, *example)),
            )
        return does

    return declare


async def _run_builtin(
    speaker: BuiltinRun, does: BuiltinFunction, args: Sequence[str], grammar: OptionParser | None
) -> BuiltinResult:
    """Run a built-in; an error becomes error output and an exit code."""
    try:
        options = BuiltinOptions(words=tuple(args)) if grammar is None else grammar.parse(args)
        known = BUILTINS_BY_WORD[speaker.word]
        if options.words and grammar is not None and _OPTION.sub("", known.usage).strip() == known.word:
            raise UsageError(f"it takes no arguments; given {shorten(' '.join(options.words))}")
        await does(speaker, options)
    except UsageError as fault:
        speaker.write_error(f"{fault}; usage: {BUILTINS_BY_WORD[speaker.word].usage}", code=2)
    except DoorwardError as error:
        speaker.report_error(error)
    return speaker.result()


def render_manual(one: Builtin) -> str:
    """The full help text of a built-in."""
    lines = [f"usage: {one.usage}", "", one.description]
    if one.options:
        width = max(len(spelt) for spelt in one.options)
        lines += ["", *(f"  {spelt:<{width}}  {told}" for spelt, told in one.options.items())]
    return "\n".join([*lines, "", f"for example: {one.example}", f"command: {one.command}"]) + "\n"
