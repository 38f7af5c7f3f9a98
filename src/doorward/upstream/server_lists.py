"""Fetches a server's lists page by page, with limits on pages, entries and bytes."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import msgspec

from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.session import Session
from doorward.upstream.tool_definitions import ToolDefinition

_MAX_PAGES = 1_000
_MAX_BYTES = 16 * 1024 * 1024
_LONGEST_CURSOR = 64 * 1024
_ENTRIES_BEFORE_YIELD = 100
"""Entries to process before other tasks get a turn."""
_canonical = msgspec.json.Encoder(order="sorted").encode


class ServerLists(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a server offers, with remarks about what was left out."""

    tools: tuple[ToolDefinition, ...] = ()
    resources: tuple[dict[str, Any], ...] = ()
    resource_templates: tuple[dict[str, Any], ...] = ()
    prompts: tuple[dict[str, Any], ...] = ()
    remarks: tuple[str, ...] = ()
    """Sentences that say what is not offered, and why."""


class _ListMethod(msgspec.Struct, frozen=True):
    method: str
    key: str
    capability: str
    names: str
    """The field that identifies an entry."""
    longest: int = 256
    """Length limit of that field."""


_LISTS = (
    _ListMethod("tools/list", "tools", "tools", "name"),
    _ListMethod("resources/list", "resources", "resources", "uri", 4_096),
    _ListMethod("resources/templates/list", "resourceTemplates", "resources", "uriTemplate", 4_096),
    _ListMethod("prompts/list", "prompts", "prompts", "name"),
)


async def fetch_lists(session: Session, capabilities: dict[str, Any], *, within: float, most: int) -> ServerLists:
    """Fetch every list in the server's capabilities.

    An error in the list of tools is raised, because a server is useless without them. An error in another list becomes
    a remark.
    """
    found: dict[str, tuple[dict[str, Any], ...]] = {}
    remarks: list[str] = []
    for one in _LISTS:
        if one.capability not in capabilities:
            continue
        try:
            entries = await _fetch_list(session, one, within, most, remarks)
            if one.key != "tools":  # secrets in tools are masked later, so that their digests cover every part
                entries = tuple(session.secret_mask.mask_value(list(entries)))
            found[one.key] = entries
        except DoorwardError as error:
            if one.key == "tools":
                raise
            remarks.append(f"{one.method} failed: {error.message}")
    tools, refused = session.connection.admit(list(found.get("tools", ())))
    remarks.extend(refused)
    return ServerLists(
        tools=await _read_definitions(tools, remarks),
        resources=found.get("resources", ()),
        resource_templates=found.get("resourceTemplates", ()),
        prompts=found.get("prompts", ()),
        remarks=tuple(remarks),
    )


async def _fetch_list(
    session: Session, one: _ListMethod, within: float, most: int, remarks: list[str]
) -> tuple[dict[str, Any], ...]:
    entries: list[dict[str, Any]] = []
    seen: set[str] = set()
    params: dict[str, Any] = {}
    unfit = left_out = size = 0
    for _ in range(_MAX_PAGES):
        page = await session.request(one.method, params, within=within)
        given, cursor = page.get(one.key), page.get("nextCursor")
        if type(given) is not list:
            raise Unreachable(f"The server {session.name} answered {one.method} without a list of {one.key}.")
        for number, entry in enumerate(given):
            if number % _ENTRIES_BEFORE_YIELD == _ENTRIES_BEFORE_YIELD - 1:
                await asyncio.sleep(0)
            if type(entry) is not dict or not _is_valid_name(entry.get(one.names), one.longest):
                unfit += 1
            elif len(entries) >= most or size > _MAX_BYTES:
                left_out += 1
            else:
                entries.append(entry)
                size += len(_canonical(entry))
        if cursor is None:
            break
        if type(cursor) is not str or len(cursor) > _LONGEST_CURSOR or cursor in seen:
            remarks.append(f"{one.method} returned an invalid cursor; there may be more {one.key} than are shown.")
            break
        if left_out:
            remarks.append(f"{one.method} has more pages, which were not fetched.")
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    else:
        remarks.append(f"{one.method} has more than {_MAX_PAGES} pages; the rest was not fetched.")
    if left_out:
        remarks.append(
            f"{len(entries)} {one.key} are offered, and {left_out} more {'is' if left_out == 1 else 'are'} left out:"
            f" the limit is {most} for each server (setting `upstream.max_entries`), in at most {_MAX_BYTES} bytes."
        )
    if unfit:
        valid = f"an object with a `{one.names}` of at most {one.longest} characters"
        remarks.append(f"{_count_with_verb(unfit, one.key)} left out: each must be {valid}.")
    return tuple(_drop_duplicates(entries, one, remarks))


def _drop_duplicates(entries: list[dict[str, Any]], one: _ListMethod, remarks: list[str]) -> list[dict[str, Any]]:
    """Leave out entries that share a name, because their order must not decide which one is used."""
    times: dict[str, int] = {}
    for entry in entries:
        times[entry[one.names]] = times.get(entry[one.names], 0) + 1
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        shown = ", ".join(repr(escape_invisible(name[:80])) for name in twice[:5])
        count = _count_with_verb(sum(times[name] for name in twice), one.key)
        remarks.append(f"{count} left out, because they share a name: {shown}.")
    return [entry for entry in entries if times[entry[one.names]] == 1]


async def _read_definitions(tools: list[dict[str, Any]], remarks: list[str]) -> tuple[ToolDefinition, ...]:
    definitions = []
    for number, tool in enumerate(tools):
        if number % _ENTRIES_BEFORE_YIELD == _ENTRIES_BEFORE_YIELD - 1:
            await asyncio.sleep(0)
        schema = tool.get("inputSchema")
        if type(schema) is not dict:
            name = escape_invisible(tool["name"][:80])
            remarks.append(f"The tool {name!r} is left out: its `inputSchema` must be an object.")
            continue
        output, annotations = tool.get("outputSchema"), tool.get("annotations")
        definitions.append(
            ToolDefinition(
                name=tool["name"],
                title=_text_or_empty(tool.get("title")),
                description=_text_or_empty(tool.get("description")),
                input_schema=schema,
                output_schema=output if type(output) is dict else None,
                annotations=annotations if type(annotations) is dict else None,
                digest=hashlib.sha256(_canonical(tool)).hexdigest(),
                whole=tool,
            )
        )
    return tuple(definitions)


def _is_valid_name(value: Any, longest: int) -> bool:
    return type(value) is str and 0 < len(value) <= longest


def _text_or_empty(value: Any) -> str:
    return value if type(value) is str else ""


def _count_with_verb(number: int, key: str) -> str:
    """A count of list entries with the verb, such as "3 tools are"."""
    return f"1 of the {key} is" if number == 1 else f"{number} {key} are"
