"""A program whose changes are made all at once at its end, so that they can be foreseen, and taken back.

It runs on a copy-on-write view of the workspace. What it changed there is then made in the workspace itself, if that
is still as the program found it; a program that is stopped has changed nothing.
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
_LIVE = "bash --live=true writes straight into the workspace, without this limit and without undo."
_MOST_OUTPUT_SHOWN = 4_000


class Done(msgspec.Struct, frozen=True):
    """How a program ended, and what it changed on its view."""

    ended: Ended
    changes: Changes


async def attempt(ctx: Context, profile: Profile, program: Program, on_output: OnOutput | None) -> Done:
    """Run the program on its view alone."""
    try:
        return Done(*await ctx.house.sandbox.try_out(profile, program, on_output))
    except TooManyChanges as error:
        most = ctx.house.settings.sandbox.scratch_bytes
        raise CommandFailed(
            f"{program.argv[0]} changed more than {MOST_PATHS} paths or {most} bytes (setting sandbox.scratch_bytes),"
            " too much to make at once; nothing was changed.",
            hint=_LIVE,
        ) from error
    except ChangedMeanwhile as error:
        raise Conflict(
            f"The workspace changed while {program.argv[0]} ran: {error.path!r} is not as it found it, so nothing was"
            " changed.",
            hint="Run it again.",
        ) from error
    except UnicodeEncodeError as error:
        raise CommandFailed(
            f"{program.argv[0]} changed a file whose name is not UTF-8 text, {error.object!a}, so nothing was changed.",
            hint=_LIVE,
        ) from error
    except (OSError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "folders lie too deep in each other"
        raise CommandFailed(
            f"What {program.argv[0]} changed cannot be looked at ({why}), so nothing was changed.", hint=_LIVE
        ) from error


def approved(ctx: Context) -> Done | None:
    """What people approved, when they were shown it."""
    return None if ctx.effect is None else msgspec.msgpack.decode(ctx.effect, type=Done)


async def finish(ctx: Context, done: Done) -> None:
    """Make the changes in the workspace, unless the program was stopped."""
    if done.changes.items and not done.ended.stopped:
        await tree.make(ctx, done.changes)


def foreseen(done: Done) -> Foreseen:
    """What people decide about: what the program wrote, and the difference it makes."""
    ended = done.ended
    if ended.stopped:
        return Foreseen(None, "Tried on a copy, it did not end within its limits. What it would change is not known.")
    how = f"exit code {ended.exit_code}" if ended.exit_code is not None else f"signal {ended.signal}"
    parts = [f"Tried on a copy, it ended with {how}."]
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
    return Foreseen(None, "\n".join(("That is too much to keep: when it is approved, it runs anew.", *parts)))
