"""The Python client for Doorward's REST API, blocking and asynchronous.

    from doorward.client import Client

    with Client("http://127.0.0.1:8642", token="…", room="general") as doorward:
        print(doorward.run("shell/ls").text)

It imports nothing of the server, so programs that use it start quickly.
"""

from doorward.client.awaiting import AsyncClient
from doorward.client.blocking import Client
from doorward.client.operation import AsyncStream, Stream
from doorward.client.outcome import Happened, Notice, Outcome, Output, Parked, Progress, Started
from doorward.client.paths import Page
from doorward.client.thinking import Answer, Doing, ToolCall

__all__ = [
    "Answer",
    "AsyncClient",
    "AsyncStream",
    "Client",
    "Doing",
    "Happened",
    "Notice",
    "Outcome",
    "Output",
    "Page",
    "Parked",
    "Progress",
    "Started",
    "Stream",
    "ToolCall",
]
