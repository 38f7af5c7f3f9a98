"""shell/script."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.backends.shell.family import StartFolder, family
from doorward.backends.shell.shapes import Step, StepsTaken
from doorward.catalogue.entry import ARGUMENTS, FOLDER
from doorward.catalogue.paths import folder_inside
from doorward.command import Example, NoUndo, shortened
from doorward.errors import BadParams, CommandFailed
from doorward.facts import Access, Effects, Safety, Tier
from doorward.model import Outcome
from doorward.rooms.people import LOCAL

_CD = "shell/cd"
_SEPARATORS = frozenset(";|&<>()")
_MOST = 100
_WC = {"words": True, "files": ["main.py"]}

Steps = Annotated[
    list[str | dict[str, Any]],
    Meta(
        description='The steps: lines such as "ls -la src", or {"command": "ls", "params": {"long": true}}',
        min_length=1,
        max_length=_MOST,
    ),
]


@family.command(
    "script",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=600,
    undo=NoUndo("what its steps change is theirs to undo"),
    examples=[
        Example("make a folder and look at it", {"commands": ["mkdir -p build/out", "ls -l build"]}),
        Example("count the words of a file in src", {"commands": ["cd src", {"command": "wc", "params": _WC}]}),
    ],
    related=["bash", "shell/cd"],
)
async def run_script(
    ctx: Context,
    commands: Steps,
    folder: StartFolder = ".",
    keep_going: Annotated[bool, Meta(description="Whether to go on after a step that failed")] = False,
) -> StepsTaken:
    """Run commands of the catalogue one after another; stops at the first that fails, unless told to keep going.

    No shell reads the lines: a word is a word, quotes hold words together, and nothing is expanded. Every step is a
    call of its own that is checked, approved where that is needed, and recorded. `cd` holds for the steps behind it.
    """
    here = folder_inside(folder)
    planned = [_planned(ctx, step) for step in commands]
    done: list[Step] = []
    for number, (name, params) in enumerate(planned, 1):
        ctx.execution.progress((number - 1) / len(planned), f"step {number} of {len(planned)}: {name}")
        outcome = await ctx.house.ask(ctx.call, name, {FOLDER: here, **params})
        done.append(_shown(number, outcome))
        if outcome.status == "done":
            here = outcome.result["folder"] if name == _CD else here
        elif outcome.status == "parked":
            raise CommandFailed(
                f"Step {number} ({name}) waits for a person's approval, ticket {outcome.ticket}; the steps behind it"
                " were not run.",
                hint="Resume that step by itself with its ticket, then run the rest.",
                result=_result(done, planned, here),
            )
        elif not keep_going:
            raise CommandFailed(f"Step {number} ({name}): {outcome.message}", result=_result(done, planned, here))
    return _result(done, planned, here)


@run_script.shows_effect
async def show_script(
    ctx: Context, commands: Steps, folder: StartFolder = ".", keep_going: bool = False
) -> dict[str, Any]:
    steps = [{"command": name, "params": params} for name, params in (_planned(ctx, step) for step in commands)]
    return {"steps": steps, "folder": folder_inside(folder), "keepGoing": keep_going}


def _planned(ctx: Context, step: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The command and parameters that a step means; it must be of the catalogue, or cd."""
    if isinstance(step, str):
        name, *words = split(step)
        params: dict[str, Any] = {ARGUMENTS: words}
    else:
        unknown = set(step) - {"command", "params"}
        name, params = step.get("command", ""), step.get("params", {})
        if unknown or not isinstance(name, str) or not isinstance(params, dict):
            raise BadParams(f'A step is a line or {{"command": …, "params": {{…}}}}; given {shortened(step)}.')
    offered = [one.name for one in ctx.house.offered(ctx.caller, ctx.call.room)]
    command = ctx.house.registry.resolve(name, offered, private=ctx.caller.tenant == LOCAL)
    if command.name == _CD:
        return _CD, _cd_params(params)
    if not isinstance(command, CatalogueCommand):
        raise BadParams(f"A script is made of commands of the catalogue and cd; given {command.name}.")
    return command.name, dict(params)


def _cd_params(params: Mapping[str, Any]) -> dict[str, Any]:
    if ARGUMENTS not in params:
        return dict(params)
    words = params[ARGUMENTS]
    if len(words) > 1:
        raise BadParams(f"cd takes one folder; given {shortened(words)}.")
    return {"path": words[0]} if words else {}


def split(line: str) -> list[str]:
    """The words of a line. What a shell would do something with is refused, since here nothing would happen."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="".join(sorted(_SEPARATORS)))
    lexer.whitespace_split = True
    lexer.commenters = ""
    words, bare = [], shlex.shlex(line, posix=False, punctuation_chars="".join(sorted(_SEPARATORS)))
    bare.whitespace_split = True
    bare.commenters = ""
    try:
        words = list(lexer)
        operators = [word for word in bare if set(word) <= _SEPARATORS]
    except ValueError as error:
        raise BadParams(f"A quote is opened and never closed in {shortened(line)}.") from error
    if operators:
        raise BadParams(
            f"No shell reads this line, so {operators[0]!r} would be a plain word; make it steps of its own, put it in"
            f" quotes, or use bash. Given {shortened(line)}."
        )
    if not words:
        raise BadParams("A step is empty; give a command, such as 'ls -la src'.")
    return words


def _shown(number: int, outcome: Outcome) -> Step:
    shown: Step = {"step": number, "command": outcome.command, "status": outcome.status, "call": outcome.call}
    if outcome.status == "done" or outcome.result is not None:
        shown["result"] = outcome.result
    if outcome.status != "done":
        shown |= {"code": outcome.code, "message": outcome.message}
    return shown


def _result(done: Sequence[Step], planned: Sequence[Any], folder: str) -> StepsTaken:
    return {
        "steps": list(done),
        "ran": len(done),
        "of": len(planned),
        "failed": sum(step["status"] != "done" for step in done),
        "folder": folder,
    }
