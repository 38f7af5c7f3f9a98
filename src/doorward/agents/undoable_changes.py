"""The changes of a conversation that an agent can undo, described for its model."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.agents.models.model import UndoableChange
from doorward.core import redact
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Caller
from doorward.store import before_images
from doorward.store.sqlite import Store

_MAX_NAMES = 5
_MAX_NAME = 200


async def list_undoable(
    store: Store, caller: Caller, room: str, requests: Sequence[str] | None = None
) -> tuple[UndoableChange, ...]:
    """List the undoable changes of a caller in a room; with `requests`, only those of the keeper's requests named."""
    by = (caller.id, caller.on_behalf_of)
    found = await before_images.open_changes(store, caller.tenant, by, room, requests=requests)
    return tuple(UndoableChange(one.call, _describe_change(one)) for one in found)


def _describe_change(change: before_images.RecordedChange) -> str:
    names = [escape_invisible(redact.text(one[:_MAX_NAME]), lines=False) for one in change.targets[:_MAX_NAMES]]
    more = [f"{len(change.targets) - _MAX_NAMES} more"] if len(change.targets) > _MAX_NAMES else []
    return f"{change.command} of {', '.join([*names, *more])}"
