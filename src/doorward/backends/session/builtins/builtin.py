"""A built-in of the session shell: a word that is a command of the house.

Every built-in takes the words behind it, what was piped into it and the session it stands in, and gives what it
prints. Whatever it shows or changes beside the session itself, it asks other commands for, so that a line typed in the
shell can do just what its caller may do here.
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

Words = Annotated[list[str], Meta(description="The words behind it, as they were typed", max_length=10_000)]
Input = Annotated[str, Meta(description="What was piped into it")]
Columns = Annotated[
    int,
    Meta(description="How wide the screen is that it prints to; 0: it prints into a pipe or a file", ge=0, le=1_000),
]
SessionId = Annotated[str, Meta(description="The session it is typed in; empty: one of this call alone", max_length=64)]

Does = Callable[[Speaker, Options], Awaitable[None]]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What a built-in may do, as all commands declare it."""

    tier: Tier = Tier.INFORMATION
    effects: Effects = Effects.READ
    access: Access = Access.READ
    safety: Safety = Safety.SAFE
    undo: Undo | NoUndo = READS_ONLY
    timeout: float = 60


LOOKS = Kind()
"""It shows something, or sets what its session remembers, which nobody else sees."""
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
"""It shows something that only recipes with the system tier show."""


class Builtin(msgspec.Struct, frozen=True):
    """A word of the shell and how it is used."""

    word: str
    command: str
    usage: str
    group: str
    summary: str
    description: str
    options: Mapping[str, str]
    example: str


_OPTION = re.compile(r"\[-[^\]]*\]")
"""An option in a line of usage; where nothing else stands in it, no word is valid."""
KNOWN: dict[str, Builtin] = {}
"""Every built-in by its word, in the order in which they are declared."""
GROUPS = (
    "Files and folders",
    "Text and values",
    "This session",
    "Data",
    "Rooms and people",
    "What runs",
    "The house",
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

    `usage` is what stands behind the word. With `raw` it gets every word as it is, and knows no options, not even
    `--help`. `also` are other words for the same.
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
            examples=[Example(says or f"{' '.join((word, *example))} in a session of the shell", params)],
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
    """Run a built-in; however that ends, it is something printed and an exit code."""
    try:
        options = Options(words=tuple(args)) if grammar is None else grammar.read(args)
        known = KNOWN[speaker.word]
        if options.words and grammar is not None and _OPTION.sub("", known.usage).strip() == known.word:
            raise Usage(f"it takes no words; given {shortened(' '.join(options.words))}")
        await does(speaker, options)
    except Usage as fault:
        speaker.complain(f"{fault}; usage: {KNOWN[speaker.word].usage}", code=2)
    except DoorwardError as error:
        speaker.report(error)
    return speaker.result()


def manual(one: Builtin) -> str:
    """The whole help of a built-in."""
    lines = [f"usage: {one.usage}", "", one.description]
    if one.options:
        width = max(len(spelt) for spelt in one.options)
        lines += ["", *(f"  {spelt:<{width}}  {told}" for spelt, told in one.options.items())]
    return "\n".join([*lines, "", f"for example: {one.example}", f"command: {one.command}"]) + "\n"
