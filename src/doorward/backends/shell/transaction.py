"""Run a program as a transaction: its changes are applied all at once at its end, so they can be previewed and undone.

The program runs in a copy-on-write view of the workspace. Its changes are then applied to the workspace, if that has
not changed in the meantime. A program that is stopped changes nothing.
"""

from __future__ import annotations

import msgspec

from doorward.backends import tree
from doorward.backends.context import Context
from doorward.command import Foreseen
from doorward.errors import CommandFailed, Conflict
from doorward.sandbox.changes import MOST_PATHS, ChangedMeanwhile, Changes, TooManyChanges
from doorward.sandbox.profile import Profile
from doorward.sandbox.program import Ended, OnOutput, Program

_LARGEST_EFFECT = 16_000_000
_LIVE = "bash --live=true writes directly to the workspace, without this limit and without undo."
_MOST_OUTPUT_SHOWN = 4_000


class Done(msgspec.Struct, frozen=True):
    """The end of a program, and its changes in the copy-on-write view."""

    ended: Ended
    changes: Changes


async def attempt(ctx: Context, profile: Profile, program: Program, on_output: OnOutput | None) -> Done:
    """Run the program in the copy-on-write view only."""
    try:
        return Done(*await ctx.house.sandbox.try_out(profile, program, on_output))
    except TooManyChanges as error:
        most = ctx.house.settings.sandbox.scratch_bytes
        raise CommandFailed(
            f"{program.argv[0]} changed more than {MOST_PATHS} paths or {most} bytes (setting sandbox.scratch_bytes),"
            " too many to apply at once. Nothing was changed.",
            hint=_LIVE,
        ) from error
    except ChangedMeanwhile as error:
        raise Conflict(
            f"The workspace changed while {program.argv[0]} ran: {error.path!r} is different now. Nothing was changed.",
            hint="Run it again.",
        ) from error
    except UnicodeEncodeError as error:
        raise CommandFailed(
            f"{program.argv[0]} changed a file whose name is not UTF-8 text, {error.object!a}. Nothing was changed.",
            hint=_LIVE,
        ) from error
    except (OSError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "folders are nested too deeply"
        raise CommandFailed(
            f"The changes of {program.argv[0]} cannot be read ({why}). Nothing was changed.", hint=_LIVE
        ) from error


def approved(ctx: Context) -> Done | None:
    """The previewed run that people approved; None if none was previewed."""
    return None if ctx.effect is None else msgspec.msgpack.decode(ctx.effect, type=Done)


async def finish(ctx: Context, done: Done) -> None:
    """Apply the changes to the workspace, unless the program was stopped."""
    if done.changes.items and not done.ended.stopped:
        await tree.make(ctx, done.changes)


def foreseen(done: Done) -> Foreseen:
    """Describe a trial run for the people who decide: the program's output and the diff."""
    ended = done.ended
    if ended.stopped:
        return Foreseen(None, "In a trial run on a copy it exceeded its limits. Its changes are not known.")
    how = f"exit code {ended.exit_code}" if ended.exit_code is not None else f"signal {ended.signal}"
    parts = [f"In a trial run on a copy it ended with {how}."]
    for name, text in (("output", ended.stdout), ("errors", ended.stderr)):
        if text:
            shown = text.decode("utf-8", "backslashreplace")
            more = f"\n… {len(shown) - _MOST_OUTPUT_SHOWN} more characters" if len(shown) > _MOST_OUTPUT_SHOWN else ""
            quoted = "\n".join(f"  | {line}" for line in shown[:_MOST_OUTPUT_SHOWN].splitlines())
            parts.append(f"Its {name}:\n{quoted}{more}")
    parts.append(tree.difference(done.changes) or "It changes nothing.")
    effect = msgspec.msgpack.encode(done)
    if len(effect) <= _LARGEST_EFFECT:
        return Foreseen(effect, "\n".join(parts))
    return Foreseen(None, "\n".join(("The result is too large to store. After approval, it runs again.", *parts)))
