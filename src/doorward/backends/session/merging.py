"""Merge the changes of two calls that used one session at the same time.

Each call works on its own copy, so neither moves the other to another folder in the middle of a line. At the end of a
call its changes are stored, and everything it did not change keeps the stored value.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from doorward.backends.session.session import MOST_HISTORY, MOST_TALK, Session

T = TypeVar("T")


def merged(now: Session, before: Session, after: Session) -> Session:
    """Apply to the stored session `now` the changes that a call made from `before` to `after`."""
    plain = ("cwd", "before", "status", "lost")
    changed = {name: getattr(after, name) for name in plain if getattr(after, name) != getattr(before, name)}
    return msgspec.structs.replace(
        now,
        **changed,
        env=_names(now.env, before.env, after.env),
        aliases=_names(now.aliases, before.aliases, after.aliases),
        history=_lines(now.history, before.history, after.history)[-MOST_HISTORY:],
        talk=_lines(now.talk, before.talk, after.talk)[-MOST_TALK:],
        requests=_lines(now.requests, before.requests, after.requests)[-MOST_TALK:],
    )


def _names(now: dict[str, str], before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in now.items() if name in after or name not in before}
    return kept | {name: value for name, value in after.items() if before.get(name) != value}


def _lines(now: list[T], before: list[T], after: list[T]) -> list[T]:
    """Append the added lines; when lines were removed, the list of this call replaces the stored one."""
    if after[: len(before)] == before:
        return now + after[len(before) :]
    return after
