"""How a server is reached: as a process in the sandbox, or over HTTP."""

from __future__ import annotations

from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, Connection, Receiver


def either(process: Connect, remote: Connect) -> Connect:
    """The way that the operator wrote down for each."""

    async def connect(config: ServerConfig, receiver: Receiver) -> Connection:
        return await (process if config.transport == "stdio" else remote)(config, receiver)

    return connect
