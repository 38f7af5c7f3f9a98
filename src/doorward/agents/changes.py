"""The changes of a conversation that an agent can undo, described for its model."""

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
    """List the undoable changes of a caller in a room; with `requests`, only those of the keeper's requests named."""
    by = (caller.id, caller.on_behalf_of)
    found = await before_images.open_changes(store, caller.tenant, by, room, requests=requests)
    return tuple(Change(one.call, _says(one)) for one in found)


def _says(change: before_images.Change) -> str:
    names = [visible(redact.text(one[:_LONGEST_NAME]), lines=False) for one in change.targets[:_MOST_NAMES]]
    more = [f"{len(change.targets) - _MOST_NAMES} more"] if len(change.targets) > _MOST_NAMES else []
    return f"{change.command} of {', '.join([*names, *more])}"
