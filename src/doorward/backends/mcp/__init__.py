"""mcp/*: the MCP servers of others, their tools, and what they may do."""

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
