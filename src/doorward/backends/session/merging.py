"""What two calls changed in one session at the same time, put together.

Each goes on in the session as it found it, so neither moves the other to another folder in the middle of a line. At its
end, what it changed is what the session remembers, and what it left alone stays as the other left it.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from doorward.backends.session.session import MOST_HISTORY, MOST_TALK, Session

T = TypeVar("T")


def merged(now: Session, before: Session, after: Session) -> Session:
    """A session as it is stored now, with what a call made of it that had found it as it was `before`."""
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
    """What was put behind the others is put there; where some were taken away, all are as whoever did that has them."""
    if after[: len(before)] == before:
        return now + after[len(before) :]
    return after
