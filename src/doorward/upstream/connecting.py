"""Chooses the transport of a server: a sandboxed process or HTTP."""

from __future__ import annotations

from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, Connection, Receiver


def either(process: Connect, remote: Connect) -> Connect:
    """Connect to each server with the transport in its configuration."""

    async def connect(config: ServerConfig, receiver: Receiver) -> Connection:
        return await (process if config.transport == "stdio" else remote)(config, receiver)

    return connect
