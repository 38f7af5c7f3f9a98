"""completion/complete: suggests values for a prompt argument or a variable of a resource template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError
from doorward.doors.mcp import encoding
from doorward.doors.mcp.offers import OfferCache
from doorward.doors.mcp.prompts import CATEGORY, GOAL, TASK, USE, WORK_HERE, Prompts
from doorward.doors.mcp.request import McpRequest
from doorward.doors.mcp.resource_uris import FILE_TEMPLATE, ROOM_TEMPLATE
from doorward.doors.mcp.upstream_lists import UpstreamLists
from doorward.upstream.resources import COMPLETE, command_names, unwrap_uri

_MAX_VALUES = 100
"""Most values that the protocol allows in an answer."""
_ARGUMENTS = {WORK_HERE: (), USE: (CATEGORY,), TASK: (GOAL,), FILE_TEMPLATE: ("path",), ROOM_TEMPLATE: ("room",)}


class Completion:
    def __init__(self, prompts: Prompts, offers: OfferCache, aggregated: UpstreamLists) -> None:
        self._prompts = prompts
        self._offers = offers
        self._upstream_lists = aggregated

    async def complete(self, ask: McpRequest) -> bytes:
        ref, argument, typed, context = _parse_params(ask)
        values = await self._complete_upstream(ask, ref, {"name": argument, "value": typed}, context)
        if values is None:
            values = await self._complete_own(ask, _parse_target(ref), argument, typed)
        shown = list(values)[:_MAX_VALUES]
        body = {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}
        return encoding.encode_result(ask.era, {"completion": body})

    async def _complete_upstream(
        self, ask: McpRequest, ref: Mapping[str, Any], argument: Mapping[str, str], context: Mapping[str, str]
    ) -> Sequence[str] | None:
        """Suggestions of the MCP server that the prompt or template belongs to; None if it belongs to none.

        If the call would wait for approval, the server is not asked: no person should be interrupted for suggestions.
        """
        offer, target = self._offers.get(ask.caller, ask.peer.room), _parse_target(ref)
        prompt = self._upstream_lists.prompts(offer).get(target) if ref.get("type") == "ref/prompt" else None
        found = unwrap_uri(target) if prompt is None else (prompt[0].server, prompt[0].tool)
        if found is None or (prompt is None and not self._upstream_lists.has_template(offer, target)):
            return None
        server, own = found
        command = next((one for one in offer.commands if one.name == command_names(server, COMPLETE).canonical), None)
        if command is None or (command.asks_first and ask.caller.kind != "human"):
            return []
        asked = {"type": "ref/prompt", "name": own} if prompt is not None else {"type": "ref/resource", "uri": own}
        params = {"ref": asked, "argument": argument, "context": context}
        outcome = await ask.run_command(command.name, params)
        values: list[str] = outcome.result.structured_content["values"] if outcome.status == "done" else []
        return values

    async def _complete_own(self, ask: McpRequest, target: str, argument: str, typed: str) -> Sequence[str]:
        valid = _ARGUMENTS.get(target)
        if valid is None:
            raise WireError(INVALID_PARAMS, f"There is no prompt or resource template {target[:80]!r}.")
        if argument not in valid:
            words = ", ".join(valid) or "none"
            raise WireError(INVALID_PARAMS, f"{target}: unknown argument {argument[:40]!r}; valid: {words}.")
        if argument == CATEGORY:
            found = self._prompts.categories(ask)
        elif argument == "path":
            found = await self._list_paths(ask, typed)
        elif argument == "room":
            found = [room["room"] for room in await self._list_items(ask, "room/list", {})]
        else:
            return []
        return [value for value in found if value.startswith(typed)]

    async def _list_paths(self, ask: McpRequest, typed: str) -> list[str]:
        """The entries of the typed folder. Folders end with a slash, so that typing can continue."""
        folder = typed.rpartition("/")[0]
        items = await self._list_items(ask, "file/list", {"path": folder or "."})
        return [f"{item['path']}/" if item.get("type") == "folder" else item["path"] for item in items]

    async def _list_items(self, ask: McpRequest, command: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The items that a command lists; none if it is refused, because a completion is only a help."""
        outcome = await ask.run_command(command, params)
        items: list[dict[str, Any]] = outcome.result["items"] if outcome.status == "done" else []
        return items


def _parse_params(ask: McpRequest) -> tuple[Mapping[str, Any], str, str, Mapping[str, str]]:
    ref, argument, context = ask.params.get("ref"), ask.params.get("argument"), ask.params.get("context", {})
    if not isinstance(ref, dict) or not isinstance(argument, dict) or not isinstance(context, dict):
        raise WireError(INVALID_PARAMS, "completion/complete: `ref` and `argument` are required and must be objects.")
    name, typed, given = argument.get("name"), argument.get("value"), context.get("arguments", {})
    if not isinstance(name, str) or not isinstance(typed, str) or not isinstance(given, dict):
        raise WireError(INVALID_PARAMS, "completion/complete: `argument` must have `name` and `value`, as strings.")
    return ref, name, typed, given


def _parse_target(ref: Mapping[str, Any]) -> str:
    key = {"ref/prompt": "name", "ref/resource": "uri"}.get(str(ref.get("type")))
    value = ref.get(key) if key is not None else None
    if not isinstance(value, str):
        raise WireError(
            INVALID_PARAMS,
            "completion/complete: `ref` must be a ref/prompt with `name` or a ref/resource with `uri`, as strings.",
        )
    return value
