"""What Doorward's MCP door is compared with from below: an ASGI endpoint that answers with given bytes."""

from __future__ import annotations

import asyncio
from typing import Any

from bench.serving import serve_until_abandoned

ANSWER = (
    b'{"jsonrpc":"2.0","id":1000000,"result":{"content":'
    b'[{"type":"text","text":"Result: {\\n  \\"number\\": 1000000\\n}"}],"structuredContent":{"number":1000000},'
    b'"_meta":{"doorward/status":"done","doorward/code":"ok","doorward/call":"1m7hhk97nawh50n0"}}}'
)
"""What Doorward answers."""


def endpoint(answer: bytes) -> Any:
    """The least that an endpoint can do: take the body, and answer."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


if __name__ == "__main__":
    asyncio.run(serve_until_abandoned(endpoint(ANSWER)))
