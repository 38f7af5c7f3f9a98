"""The console's static files: read once, served unchanged, without a build step or other servers.

The URL of their folder contains a hash of their content. So a browser caches them for good and never mixes two
versions; it revalidates only the page itself.
"""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from doorward.doors.rest.problems import HttpProblem
from doorward.doors.rest.resource import Resource

PREFIX = "/console"
STATIC = Path(__file__).parent / "static"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The Content-Security-Policy. The page never turns text into markup or script, and the policy forbids it."""

OF_FILES = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}
OF_PAGE = {
    **OF_FILES,
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
"""Headers of the page only. They also govern the files that the page loads."""
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
_FOR_GOOD = "public, max-age=31536000, immutable"
_HERE = b"{static}"
"""Placeholder in the page for the URL of the static folder."""
_PRELOAD = b"{preload}"
"""Placeholder in the page for the preload links of its first modules."""
_FIRST = ("app.js", "pages/rooms.js")
_IMPORT = re.compile(rb'^(?:import|export)\b[^;]*?from\s+"([^"]+)"', re.MULTILINE)


class File:
    """A static file: its bytes, compressed bytes and ETag."""

    def __init__(self, content: bytes, kind: str, headers: Mapping[str, str] = OF_FILES) -> None:
        self.content = content
        self.kind = kind
        self.headers = headers
        self.small = gzip.compress(content, 9, mtime=0)
        self.tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def answer(self, request: Request, keep: str) -> Response:
        headers = {**self.headers, "ETag": self.tag, "Cache-Control": keep, "Vary": "Accept-Encoding"}
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if self.tag in known:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", "") and len(self.small) < len(self.content):
            return Response(self.small, 200, {**headers, "Content-Encoding": "gzip"}, self.kind)
        return Response(self.content, 200, headers, self.kind)


class Files:
    """The routes below `/console`, and the redirects to it."""

    def __init__(self, folder: Path = STATIC) -> None:
        read = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in _TYPES
        }
        digest = hashlib.sha256()
        for name, content in read.items():
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        self.version = digest.hexdigest()[:16]
        here = f"{PREFIX}/static/{self.version}".encode()
        first = b"".join(b'<link rel="modulepreload" href="{static}/%s" />' % name.encode() for name in _needed(read))
        page = read.pop("index.html").replace(_PRELOAD, first).replace(_HERE, here)
        self._page = File(page, _TYPES[".html"], OF_PAGE)
        self._files = {name: File(content, _TYPES[Path(name).suffix]) for name, content in read.items()}
        self.routes: list[BaseRoute] = [
            Route("/", Resource({"GET": _to_console})),
            Route("/favicon.ico", Resource({"GET": self._icon})),
            Route(PREFIX, Resource({"GET": _to_console})),
            Route(f"{PREFIX}/static/{{version}}/{{path:path}}", Resource({"GET": self._file})),
            Route(f"{PREFIX}/{{path:path}}", Resource({"GET": self._show})),
        ]

    async def _show(self, request: Request) -> Response:
        """Serve the page. Its script routes the path."""
        return self._page.answer(request, "no-cache")

    async def _file(self, request: Request) -> Response:
        name = str(request.path_params["path"])
        found = self._files.get(name)
        if found is None or request.path_params["version"] != self.version:
            raise HttpProblem("no_such_path", f"This version of the console has no file {name[:200]!r}.")
        return found.answer(request, _FOR_GOOD)

    async def _icon(self, request: Request) -> Response:
        return self._files["icon.svg"].answer(request, "no-cache")


def _needed(read: Mapping[str, bytes]) -> list[str]:
    """The modules that the page needs for its first room, following imports."""
    needed: dict[str, None] = {}
    waiting = list(_FIRST)
    while waiting:
        name = waiting.pop(0)
        if name not in needed and name in read:
            needed[name] = None
            folder = posixpath.dirname(name)
            waiting += [posixpath.normpath(posixpath.join(folder, one.decode())) for one in _IMPORT.findall(read[name])]
    return list(needed)


async def _to_console(request: Request) -> Response:
    return RedirectResponse(f"{PREFIX}/", 307)
