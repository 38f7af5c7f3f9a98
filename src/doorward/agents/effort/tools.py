"""The tools of an agent with effort: they steer its own loop and its sub-agent, and change nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.agents.models.model import ToolSpec

RESPOND = "respond"
AWAIT_ENERGY = "await_energy"
SELECT = "select_conversation"
THINK = "think"
END = "end_conversation"
SNOOZE = "snooze_conversation"
REQUEST_SERVER = "mcp_request_server_addition"
CHECK_REQUEST = "mcp_check_subagent_status"
CANCEL_REQUEST = "mcp_cancel_subagent_work"
LIST_TOOLS = "mcp_list_available_tools"

LONGEST_SNOOZE = 1_440
"""Minutes."""


def _tool(
    name: str, description: str, required: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema, name, reads_only=True)


_TEXT = {"type": "string", "minLength": 1}
_CONVERSATION = {"type": "string", "description": "The id of the conversation; this one if left out"}
OWN_TOOLS = (
    _tool(RESPOND, "Answer this conversation.", {"content": _TEXT}),
    _tool(
        AWAIT_ENERGY,
        "Pause this conversation until your energy has recovered to a level.",
        {"level": {"type": "number", "description": "The level, up to 100"}},
    ),
    _tool(SELECT, "Work on another of your conversations first.", {"conversation": _TEXT}),
    _tool(THINK, "Note a thought. Nobody reads it but you.", {"thought": _TEXT}),
    _tool(END, "End a conversation that is finished. A new message opens it again.", {}, {"reason": _TEXT}),
    _tool(
        SNOOZE,
        "Leave this conversation for some minutes, then go on with it.",
        {"minutes": {"type": "integer", "minimum": 1, "maximum": LONGEST_SNOOZE}},
    ),
)
SERVER_TOOLS = (
    _tool(
        REQUEST_SERVER,
        "Ask your sub-agent to add an MCP server that offers a tool you lack. People approve the installation.",
        {"serverName": _TEXT, "purpose": {**_TEXT, "description": "What the server should do"}},
        {"priority": {"enum": ["low", "medium", "high"]}},
    ),
    _tool(CHECK_REQUEST, "Check a request to your sub-agent.", {"requestId": _TEXT}),
    _tool(CANCEL_REQUEST, "Cancel a request to your sub-agent.", {"requestId": _TEXT, "reason": _TEXT}),
    _tool(LIST_TOOLS, "List the tools of MCP servers that you can call now.", {}),
)
NAMES = frozenset(one.name for one in (*OWN_TOOLS, *SERVER_TOOLS))
