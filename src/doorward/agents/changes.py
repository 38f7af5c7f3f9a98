"""What an AI changed in a conversation and could take back, as its model is told of it."""

from __future__ import annotations

from collections.abc import Sequence

from doorward import redact
from doorward.agents.models.model import Change
from doorward.model import Caller
from doorward.store import before_images
from doorward.store.sqlite import Store
from doorward.visible import visible

_MOST_NAMES = 5
_LONGEST_NAME = 200


async def made(store: Store, caller: Caller, room: str, requests: Sequence[str] | None = None) -> tuple[Change, ...]:
    """Its changes in a room, for whom it acts there; with `requests`, only what the keeper made in one of them."""
    by = (caller.id, caller.on_behalf_of)
    found = await before_images.open_changes(store, caller.tenant, by, room, requests=requests)
    return tuple(Change(one.call, _says(one)) for one in found)


def _says(change: before_images.Change) -> str:
    names = [visible(redact.text(one[:_LONGEST_NAME]), lines=False) for one in change.targets[:_MOST_NAMES]]
    more = [f"{len(change.targets) - _MOST_NAMES} more"] if len(change.targets) > _MOST_NAMES else []
    return f"{change.command} of {', '.join([*names, *more])}"
