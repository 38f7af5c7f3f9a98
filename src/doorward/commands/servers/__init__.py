"""Commands mcp/*: manage upstream MCP servers and call their tools. The connections are in `upstream`."""

from doorward.commands.servers import (
    calls,
    check,
    client_import,
    elicitation,
    install,
    login,
    resources,
    search,
    server_file,
    status,
    tools,
)
from doorward.commands.servers.family import family

__all__ = [
    "calls",
    "check",
    "client_import",
    "elicitation",
    "family",
    "install",
    "login",
    "resources",
    "search",
    "server_file",
    "status",
    "tools",
]
