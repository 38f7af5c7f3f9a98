"""A server that lets in only whoever has a token, and the authorization server that gives them out, in one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from scripted_web import Asked, Reply

from waiting import PATIENCE

_ANSWERS: dict[str, Any] = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"},
    "tools/list": {"tools": [{"name": "knock", "inputSchema": {"type": "object"}}], "resultType": "complete"},
    "tools/call": {"content": [{"type": "text", "text": "Come in."}], "resultType": "complete"},
}


class Guarded:
    """Each token works until it is taken from `good`; `facts` and `resource` are what is published."""

    def __init__(self) -> None:
        self.root = ""
        self.good: set[str] = set()
        self.refreshes: set[str] = set()
        self.made = 0
        self.challenge = ""
        self.forms: list[dict[str, str]] = []
        self.basics: list[str] = []
        self.registered: list[dict[str, Any]] = []
        self.facts: dict[str, Any] = {}
        self.resource: dict[str, Any] = {}
        self.brought: dict[str, str] = {}
        self.asked_for: dict[str, str] = {}

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        path = urlsplit(asked.path).path
        if path == "/mcp":
            await self._serve(asked, reply)
        elif path == "/.well-known/oauth-protected-resource/mcp":
            said = {"resource": f"{self.root}/mcp", "authorization_servers": [self.root], **self.resource}
            await reply.whole(200, said)
        elif path == "/.well-known/oauth-authorization-server":
            await reply.whole(200, {**self._facts(), **self.facts})
        elif path == "/register":
            self.registered.append(asked.message)
            await reply.whole(201, {"client_id": f"client-{len(self.registered)}"})
        elif path == "/authorize":
            await self._send_back(dict(parse_qsl(urlsplit(asked.path).query)), reply)
        elif path == "/token":
            await self._give(asked, reply)
        else:
            await reply.whole(404)

    def _facts(self) -> dict[str, Any]:
        return {
            "issuer": self.root,
            "authorization_endpoint": f"{self.root}/authorize",
            "token_endpoint": f"{self.root}/token",
            "registration_endpoint": f"{self.root}/register",
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "code_challenge_methods_supported": ["S256"],
        }

    async def _serve(self, asked: Asked, reply: Reply) -> None:
        if asked.headers.get("authorization", "").removeprefix("Bearer ") not in self.good:
            await reply.whole(401, WWW_Authenticate=self.challenge or "Bearer")
        elif asked.method == "POST" and "id" in asked.message:
            result = _ANSWERS.get(asked.message["method"], {})
            await reply.whole(200, {"jsonrpc": "2.0", "id": asked.message["id"], "result": result})
        else:
            await reply.whole(202 if asked.method == "POST" else 405)

    async def _send_back(self, query: dict[str, str], reply: Reply) -> None:
        self.asked_for = query
        brought = {"code": "the-code", "state": query["state"], **self.brought}
        await reply.whole(302, Location=f"{query['redirect_uri']}?{urlencode(brought)}")

    async def _give(self, asked: Asked, reply: Reply) -> None:
        form = dict(parse_qsl(asked.body.decode()))
        self.forms.append(form)
        if asked.headers.get("authorization", "").startswith("Basic "):
            self.basics.append(unquote(base64.b64decode(asked.headers["authorization"][6:]).decode()))
        if form["grant_type"] == "refresh_token" and form["refresh_token"] not in self.refreshes:
            await reply.whole(400, {"error": "invalid_grant", "error_description": "it is worn out"})
            return
        if form["grant_type"] == "authorization_code":
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            assert (form["code"], challenge) == ("the-code", self.asked_for["code_challenge"])
        self.made += 1
        self.good.add(f"access-{self.made}")
        self.refreshes.add(f"refresh-{self.made}")
        given = {"access_token": f"access-{self.made}", "token_type": "Bearer", "expires_in": 3600}
        if form["grant_type"] != "client_credentials":
            given["refresh_token"] = f"refresh-{self.made}"
        await reply.whole(200, given)


async def visit(url: str) -> int:
    """A person whose browser follows every redirect; the status of the page that it ends on."""

    def opened() -> int:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as page:
                return int(page.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    return await asyncio.to_thread(opened)
