"""What Doorward's MCP door is compared with from above: the same tool on the official SDK's server, without a gate."""

from __future__ import annotations

import asyncio
import sys

from mcp.server import MCPServer

from bench.serving import serve_until_abandoned


def server() -> MCPServer:
    """One tool that gives a number back, as `bench/read` does."""
    made = MCPServer("bench", log_level="ERROR")

    @made.tool(name="bench_read")
    async def read(number: int) -> dict[str, int]:
        """Give the number back."""
        return {"number": number}

    return made


if __name__ == "__main__":
    _app = server().streamable_http_app(json_response=sys.argv[1] == "json", stateless_http=True)
    asyncio.run(serve_until_abandoned(_app))
