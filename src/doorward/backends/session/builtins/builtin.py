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

from doorward.backends.context import Context
from doorward.backends.session.builtins.options import Grammar, Options, Usage
from doorward.backends.session.builtins.printed import Printed, printed
from doorward.backends.session.builtins.speaking import Speaker
from doorward.backends.session.secret_values import in_args
from doorward.backends.vfs.family import BY_ITS_CALLS
from doorward.command import READS_ONLY, Example, Family, NoUndo, Undo, shortened
from doorward.errors import DoorwardError
from doorward.facts import Access, Effects, Safety, Tier

family = Family("sh", category="session shell")

Words = Annotated[list[str], Meta(description="The arguments, as typed", max_length=10_000)]
Input = Annotated[str, Meta(description="The piped input")]
Columns = Annotated[
    int,
    Meta(description="Width of the screen in columns; 0: output to a pipe or a file", ge=0, le=1_000),
]
SessionId = Annotated[str, Meta(description="The id of the session; empty: a temporary one", max_length=64)]

Does = Callable[[Speaker, Options], Awaitable[None]]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """The safety facts of a built-in, as every command declares them."""

    tier: Tier = Tier.INFORMATION
    effects: Effects = Effects.READ
    access: Access = Access.READ
    safety: Safety = Safety.SAFE
    undo: Undo | NoUndo = READS_ONLY
    timeout: float = 60


LOOKS = Kind()
"""It shows something, or changes its session, which nobody else sees."""
WRITES = Kind(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    undo=BY_ITS_CALLS,
)
REPLACES = Kind(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.CAUTION,
    undo=BY_ITS_CALLS,
)
REMOVES = Kind(
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    undo=BY_ITS_CALLS,
)
STORES = Kind(
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    undo=BY_ITS_CALLS,
)
ASKS = Kind(tier=Tier.SYSTEM)
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
KNOWN: dict[str, Builtin] = {}
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
    kind: Kind = LOOKS,
    options: Mapping[str, str] | None = None,
    number: str = "",
    raw: bool = False,
    also: Sequence[str] = (),
    input: str = "",
    says: str = "",
) -> Callable[[Does], Does]:
    """Declare the decorated function as a built-in; its docstring is its help.

    `usage` is the usage line without the word. With `raw` the built-in gets all words unparsed and has no options, not
    even `--help`. `also` lists other words for the same built-in.
    """
    grammar = Grammar({} if raw else options or {}, number)

    def declare(does: Does) -> Does:
        async def run(
            ctx: Context,
            args: Words = [],  # noqa: B006 - it is read only
            input: Input = "",
            session: SessionId = "",
            columns: Columns = 0,
        ) -> Printed:
            if not raw and "--help" in args[:1]:
                return printed(manual(KNOWN[word]))
            opened = await ctx.house.sessions.open(ctx.caller, ctx.call.room, session)
            unkept: list[str] = []
            async with ctx.house.sessions.using(opened, stored=bool(session), tell=unkept.append) as held:
                speaker = Speaker(ctx, word, held, input, columns)
                said = await _spoken(speaker, does, args, None if raw else grammar)
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
            tells_how_it_stands=True,
            works_by_calls=True,
        )(run)
        command.unlisted = True
        command.finds_secrets(functools.partial(in_args, word))
        for one in (word, *also):
            KNOWN[one] = Builtin(
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


async def _spoken(speaker: Speaker, does: Does, args: Sequence[str], grammar: Grammar | None) -> Printed:
    """Run a built-in; an error becomes error output and an exit code."""
    try:
        options = Options(words=tuple(args)) if grammar is None else grammar.read(args)
        known = KNOWN[speaker.word]
        if options.words and grammar is not None and _OPTION.sub("", known.usage).strip() == known.word:
            raise Usage(f"it takes no arguments; given {shortened(' '.join(options.words))}")
        await does(speaker, options)
    except Usage as fault:
        speaker.complain(f"{fault}; usage: {KNOWN[speaker.word].usage}", code=2)
    except DoorwardError as error:
        speaker.report(error)
    return speaker.result()


def manual(one: Builtin) -> str:
    """The full help text of a built-in."""
    lines = [f"usage: {one.usage}", "", one.description]
    if one.options:
        width = max(len(spelt) for spelt in one.options)
        lines += ["", *(f"  {spelt:<{width}}  {told}" for spelt, told in one.options.items())]
    return "\n".join([*lines, "", f"for example: {one.example}", f"command: {one.command}"]) + "\n"
