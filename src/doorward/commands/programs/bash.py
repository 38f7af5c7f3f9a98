"""The command bash: run a script in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from doorward.commands import workspace_changes
from doorward.commands.catalogue.arguments import normalize_folder
from doorward.commands.context import Context
from doorward.commands.programs import runner
from doorward.commands.programs.destructive_scripts import explain_refusal
from doorward.commands.programs.family import ProgramResult, StartFolder
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Command, Example, Facts, Family, Undo
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams
from doorward.core.signatures import result_schema, signature_schema

LARGEST_SCRIPT = 100_000
_SECONDS = 86_400.0
"""A last resort. The setting wall_seconds of the room's sandbox profile stops the script earlier."""

bash_family = Family("", category="shell")

Script = Annotated[
    str, Meta(description="The bash script, at most 100,000 bytes", min_length=1, max_length=LARGEST_SCRIPT)
]

Live = Annotated[
    bool,
    Meta(description="Write directly to the workspace while it runs; this cannot be undone"),
]


async def bash(ctx: Context, command: Script, folder: StartFolder = ".", live: Live = False) -> ProgramResult:
    """Run a bash script in the workspace, inside the sandbox, and return its output.

    Its changes are applied to the workspace all at once when it ends, and can be reverted with `undo`. Scripts that
    would obviously destroy something are refused before they start. That check catches mistakes; the sandbox is the
    protection.
    """
    return await runner.run(ctx, make_task(ctx, command, folder, live))


async def show_effect(ctx: Context, command: Script, folder: StartFolder = ".", live: Live = False) -> dict[str, Any]:
    return await runner.describe_task(ctx, make_task(ctx, command, folder, live))


async def foresee(ctx: Context, command: Script, folder: StartFolder = ".", live: Live = False) -> EffectPreview | None:
    return await runner.foresee(ctx, make_task(ctx, command, folder, live))


def make_task(ctx: Context, command: str, folder: str, live: bool) -> runner.ProgramTask:
    return runner.ProgramTask(
        argv=("bash", "--noprofile", "--norc", "-c", command),
        folder=normalize_folder(folder),
        writes=True,
        live=live,
        profile=ctx.sandbox_terms.profile,
        shares_loopback=True,
    )


def check_script(name: str, params: Mapping[str, Any]) -> None:
    """Refuse a destructive script when its parameters are checked, so that it never waits for approval."""
    script = params["command"]
    if "\x00" in script:
        raise BadParams(f"{name}: the script contains a NUL byte, which is not valid in a script.")
    size = len(script.encode())
    if size > LARGEST_SCRIPT:
        raise BadParams(f"{name}: the script has {size} bytes; at most {LARGEST_SCRIPT} are allowed.")
    normalize_folder(params.get("folder", "."))
    why = explain_refusal(script)
    if why:
        raise BadParams(
            f"{name}: the script is refused because it {why}.",
            hint="Change only files in the workspace, and name each of them.",
        )


def _build_command() -> Command:
    schema, arguments = signature_schema(bash)
    text = (bash.__doc__ or "").strip()
    command = Command(
        "bash",
        Facts(
            tier=Tier.CODE,
            effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
            access=Access.FULL,
            safety=Safety.DANGEROUS,
            cost=5,
            timeout=_SECONDS,
            undo=Undo(workspace_changes.KIND),
            examples=(
                Example("count the lines of Python", {"command": "cat src/*.py | wc -l"}),
                Example("count words in notes", {"command": "for f in *.md; do wc -w $f; done", "folder": "notes"}),
            ),
            related=("shell/script",),
        ),
        run=bash,
        summary=text.partition("\n")[0],
        description="\n".join(line.strip() for line in text.splitlines()),
        category="shell",
        schema=schema,
        arguments=arguments,
        returns=partial(result_schema, bash),
    )
    command.effect = show_effect
    command.preview = foresee
    command.runs_trial = True
    command.checks(partial(check_script, "bash"))
    return command


command = _build_command()
bash_family.commands.append(command)
