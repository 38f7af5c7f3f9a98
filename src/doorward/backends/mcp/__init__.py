"""Commands mcp/*: manage upstream MCP servers and call their tools. The connections are in `upstream`."""

from doorward.backends.mcp import (
    approving,
    calling,
    editing,
    fetching,
    importing,
    login,
    logs,
    questions,
    servers,
    testing,
    tools,
)
from doorward.backends.mcp.family import family

__all__ = [
    "approving",
    "calling",
    "editing",
    "family",
    "fetching",
    "importing",
    "login",
    "logs",
    "questions",
    "servers",
    "testing",
    "tools",
]
