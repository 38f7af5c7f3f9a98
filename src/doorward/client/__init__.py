"""The Python client for Doorward's REST API, blocking and asynchronous.

    from doorward.client import Client

    with Client("http://127.0.0.1:8642", token="…", room="general") as doorward:
        print(doorward.run("shell/ls").text)

It imports nothing of the server, so programs that use it start quickly.
"""

import importlib
from typing import TYPE_CHECKING, Any

from doorward.client.descriptors import AsyncStream, Stream
from doorward.client.encoding import Page
from doorward.client.keeper import Answer, KeeperStep, ToolCall
from doorward.client.outcome import Notice, Outcome, Output, Parked, Progress, ServerEvent, Started

if TYPE_CHECKING:
    from doorward.client.async_client import AsyncClient
    from doorward.client.sync_client import Client

__all__ = [
    "Answer",
    "AsyncClient",
    "AsyncStream",
    "Client",
    "KeeperStep",
    "Notice",
    "Outcome",
    "Output",
    "Page",
    "Parked",
    "Progress",
    "ServerEvent",
    "Started",
    "Stream",
    "ToolCall",
]

_CLIENTS = {"AsyncClient": "async_client", "Client": "sync_client"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a client when it is used: its HTTP library is slow to import, and the CLI does not need it."""
        if name not in _CLIENTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_CLIENTS[name]}"), name)
