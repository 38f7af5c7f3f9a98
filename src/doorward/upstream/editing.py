"""Text edits of `mcp-servers.json`: one entry changes, and every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doorward.edited import jsonedit
from doorward.edited.jsontext import Node, parse
from doorward.errors import Conflict, NotFound
from doorward.upstream.entry import as_id

_LIST, _MAP = "servers", "mcpServers"


def added(text: str | None, id: str, entry: Mapping[str, Any]) -> str:
    """Add a server in the file's own format; raises Conflict when the id is taken."""
    if text is None:
        return json.dumps({_LIST: [{"id": id, **entry}]}, indent=2, ensure_ascii=False) + "\n"
    if id in ids(text):
        raise Conflict(f"The server {id!r} exists already; choose another id, or remove that server first.")
    root = parse(text)
    held = root.member(_MAP)
    if held is not None:
        return jsonedit.inserted(text, held.node, id, entry, 1)
    held = root.member(_LIST)
    whole = {"id": id, **entry}
    if held is None:
        return jsonedit.inserted(text, root, _LIST, [whole], 0)
    return jsonedit.appended(text, held.node, whole, 1)


def removed(text: str | None, id: str) -> str:
    """Remove a server."""
    whole = text or "{}"
    holder, place = _found(whole, id)
    return jsonedit.without(whole, holder, place)


def switched(text: str | None, id: str, enabled: bool) -> str:
    """Enable or disable a server; returns the same text when nothing changes."""
    whole = text or "{}"
    holder, place = _found(whole, id)
    node = holder.elements[place] if holder.elements is not None else (holder.members or [])[place].node
    opposite = node.member("disabled")
    if opposite is not None:
        wanted = not enabled
        same = opposite.node.value is wanted
        return whole if same else jsonedit.replaced(whole, opposite.node, wanted, 0)
    said = node.member("enabled")
    if said is None:
        return whole if enabled else jsonedit.inserted(whole, node, "enabled", enabled, 2)
    return whole if said.node.value is enabled else jsonedit.replaced(whole, said.node, enabled, 0)


def ids(text: str | None) -> list[str]:
    """The ids of all servers, in file order."""
    if text is None:
        return []
    whole = parse(text).value
    return [*(one["id"] for one in whole.get(_LIST, ())), *map(as_id, whole.get(_MAP, {}))]


def entry(text: str | None, id: str) -> dict[str, Any]:
    """The fields of one server as they are in the file."""
    whole = text or "{}"
    holder, place = _found(whole, id)
    node = holder.elements[place] if holder.elements is not None else (holder.members or [])[place].node
    return {key: value for key, value in node.value.items() if key != "id"}


def _found(text: str, id: str) -> tuple[Node, int]:
    """Find the list or map that contains the server, and its index; raises NotFound with the known ids."""
    known = ids(text)
    if id not in known:
        there = f"known servers: {', '.join(known)}" if known else "there are no servers"
        raise NotFound(f"There is no server {id!r}; {there}.", hint="doorward servers list shows them.")
    root = parse(text)
    held = root.member(_MAP) or root.member(_LIST)
    assert held is not None  # noqa: S101 - one of them holds the id that was just found
    return held.node, known.index(id)
