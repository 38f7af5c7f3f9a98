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

from doorward.doors.http.problems import HttpProblem
from doorward.doors.rest.resource import Resource

PREFIX = "/console"
STATIC = Path(__file__).parent / "static"

CONTENT_SECURITY_POLICY = "; ".join(
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

FILE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}
PAGE_HEADERS = {
    **FILE_HEADERS,
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
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
_IMMUTABLE = "public, max-age=31536000, immutable"
_STATIC_PLACEHOLDER = b"{static}"
"""Placeholder in the page for the URL of the static folder."""
_PRELOAD_PLACEHOLDER = b"{preload}"
"""Placeholder in the page for the preload links of its first modules."""
_ENTRY_MODULES = ("app.js", "pages/rooms.js")
_IMPORT = re.compile(rb'^(?:import|export)\b[^;]*?from\s+"([^"]+)"', re.MULTILINE)


class StaticFile:
    """A static file: its bytes, compressed bytes and ETag."""

    def __init__(self, content: bytes, kind: str, headers: Mapping[str, str] = FILE_HEADERS) -> None:
        self.content = content
        self.media_type = kind
        self.headers = headers
        self.compressed = gzip.compress(content, 9, mtime=0)
        self.etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def respond(self, request: Request, keep: str) -> Response:
        headers = {**self.headers, "ETag": self.etag, "Cache-Control": keep, "Vary": "Accept-Encoding"}
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if self.etag in known:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", "") and len(self.compressed) < len(self.content):
            return Response(self.compressed, 200, {**headers, "Content-Encoding": "gzip"}, self.media_type)
        return Response(self.content, 200, headers, self.media_type)


class ConsoleFiles:
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
        first = b"".join(
            b'<link rel="modulepreload" href="{static}/%s" />' % name.encode() for name in _find_preloads(read)
        )
        page = read.pop("index.html").replace(_PRELOAD_PLACEHOLDER, first).replace(_STATIC_PLACEHOLDER, here)
        self._page = StaticFile(page, _TYPES[".html"], PAGE_HEADERS)
        self._files = {name: StaticFile(content, _TYPES[Path(name).suffix]) for name, content in read.items()}
        self.routes: list[BaseRoute] = [
            Route("/", Resource({"GET": _redirect_to_console})),
            Route("/favicon.ico", Resource({"GET": self._serve_icon})),
            Route(PREFIX, Resource({"GET": _redirect_to_console})),
            Route(f"{PREFIX}/static/{{version}}/{{path:path}}", Resource({"GET": self._serve_file})),
            Route(f"{PREFIX}/{{path:path}}", Resource({"GET": self._serve_page})),
        ]

    async def _serve_page(self, request: Request) -> Response:
        """Serve the page. Its script routes the path."""
        return self._page.respond(request, "no-cache")

    async def _serve_file(self, request: Request) -> Response:
        name = str(request.path_params["path"])
        found = self._files.get(name)
        if found is None or request.path_params["version"] != self.version:
            raise HttpProblem("no_such_path", f"This version of the console has no file {name[:200]!r}.")
        return found.respond(request, _IMMUTABLE)

    async def _serve_icon(self, request: Request) -> Response:
        return self._files["icon.svg"].respond(request, "no-cache")


def _find_preloads(read: Mapping[str, bytes]) -> list[str]:
    """The modules that the page needs for its first room, following imports."""
    needed: dict[str, None] = {}
    waiting = list(_ENTRY_MODULES)
    while waiting:
        name = waiting.pop(0)
        if name not in needed and name in read:
            needed[name] = None
            folder = posixpath.dirname(name)
            waiting += [posixpath.normpath(posixpath.join(folder, one.decode())) for one in _IMPORT.findall(read[name])]
    return list(needed)


async def _redirect_to_console(request: Request) -> Response:
    return RedirectResponse(f"{PREFIX}/", 307)
