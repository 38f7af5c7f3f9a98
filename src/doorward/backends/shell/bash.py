"""bash."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends import tree
from doorward.backends.context import Context
from doorward.backends.shell import running
from doorward.backends.shell.destructive import reason
from doorward.backends.shell.family import StartFolder
from doorward.backends.shell.shapes import Ran
from doorward.catalogue.paths import folder_inside
from doorward.command import Command, Example, Facts, Family, Foreseen, Undo
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.signatures import result_schema, signature_schema

LARGEST_SCRIPT = 100_000
_SECONDS = 3_600.0
"""The script itself is stopped by the setting sandbox.wall_seconds; this only ends what even that does not."""

bash_family = Family("", category="shell")

Script = Annotated[
    str, Meta(description="The script as bash reads it, at most 100,000 bytes", min_length=1, max_length=LARGEST_SCRIPT)
]

Live = Annotated[
    bool,
    Meta(description="Whether it writes straight into the workspace as it runs, which cannot be undone"),
]


async def bash(ctx: Context, command: Script, folder: StartFolder = ".", live: Live = False) -> Ran:
    """Run a bash script in the workspace, inside the sandbox, and give what it wrote.

    What it changes is made in the workspace all at once, when it has ended, and can be taken back with `undo`.
    Scripts that would plainly destroy something are refused before they start. That list is a help to whoever made a
    mistake; what protects is the sandbox.
    """
    return await running.run(ctx, task(command, folder, live))


async def show(ctx: Context, command: Script, folder: StartFolder = ".", live: Live = False) -> dict[str, Any]:
    plan = task(command, folder, live)
    return {"argv": list(plan.argv), "folder": plan.folder, "workspace": "may be changed"}


async def foresee(ctx: Context, command: Script, folder: StartFolder = ".", live: Live = False) -> Foreseen | None:
    return await running.foresee(ctx, task(command, folder, live))


def task(command: str, folder: str, live: bool) -> running.Task:
    return running.Task(
        argv=("bash", "--noprofile", "--norc", "-c", command), folder=folder_inside(folder), writes=True, live=live
    )


class Bash(Command):
    """Refuses a destructive script with its parameters, so that nobody is asked to approve it."""

    def check(self, params: Mapping[str, Any]) -> None:
        super().check(params)
        script = params["command"]
        if "\x00" in script:
            raise BadParams("bash: the script holds a NUL byte, which no script can.")
        size = len(script.encode())
        if size > LARGEST_SCRIPT:
            raise BadParams(f"bash: the script has {size} bytes; at most {LARGEST_SCRIPT} are valid.")
        folder_inside(params.get("folder", "."))
        why = reason(script)
        if why:
            raise BadParams(
                f"bash: the script is refused because it {why}.",
                hint="Change only files of the workspace, and name them one by one.",
            )


def _declared() -> Command:
    schema, arguments = signature_schema(bash)
    text = (bash.__doc__ or "").strip()
    command = Bash(
        "bash",
        Facts(
            tier=Tier.CODE,
            effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
            access=Access.FULL,
            safety=Safety.DANGEROUS,
            cost=5,
            timeout=_SECONDS,
            undo=Undo(tree.KIND),
            examples=(
                Example("how many lines of Python there are", {"command": "cat src/*.py | wc -l"}),
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
    command.effect = show
    command.foresee = foresee
    return command


command = _declared()
bash_family.commands.append(command)
