"""What the first page of the console costs: its bytes as they travel, and the time until a person can use it.

The bytes are counted by following what each file loads, so a file that nobody noticed counts, too.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import importlib.util
import os
import re
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from bench.serving import Served, served
from bench.sizes import Sizes

BROWSERS: tuple[str, ...] = ("chromium", "chromium-browser", "google-chrome")
"""By whichever of these names a browser is installed, the page is opened in it."""
_FIRST = "pages/rooms.js"
"""The page that opens first; the others are loaded when somebody goes there."""
_LOADS = re.compile(rb"""(?:\bfrom\s*|\bimport\s*|(?:href|src)=)["']([^"'{}$]+\.(?:js|css|svg))["']""")
_PATIENCE = 30_000


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    with served("bench.house_server", folder / "console", 0) as house:
        found = {"console_bytes": _first_page(house) / 1_000}
        taken = _until_usable(house, sizes.starts)
        if taken:
            found["console_ready"] = statistics.median(taken)
    return found


def _first_page(house: Served) -> int:
    """The compressed bytes of the page and of everything it loads before somebody goes anywhere else."""
    connection = http.client.HTTPConnection(*house.address, timeout=30)
    total, seen, wanted = 0, set[str](), ["/console/"]
    with contextlib.closing(connection):
        while wanted:
            path = wanted.pop()
            if path in seen:
                continue
            seen.add(path)
            size, text = _fetched(connection, path)
            total += size
            wanted += [urljoin(path, found.decode()) for found in _LOADS.findall(text)]
            if path.endswith("/app.js"):
                wanted.append(urljoin(path, _FIRST))
    return total


def _fetched(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """How many bytes a file takes on its way, and what it says."""
    sizes, text = [], b""
    for encoding in ("gzip", "identity"):
        connection.request("GET", path, headers={"Accept-Encoding": encoding})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path} was to be measured, but it answered {answer.status}")
        sizes.append(len(text))
    return sizes[0], text


def _until_usable(house: Served, times: int) -> list[float]:
    """Milliseconds from opening the console until something can be written in a room; none without a browser."""
    program = next((path for name in BROWSERS if (path := shutil.which(name))), "")
    if not program or importlib.util.find_spec("playwright") is None:
        return []
    host, port = house.address
    with _browser(program) as browser:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.goto(f"http://{host}:{port}/console/#login={house.facts['login']}")
        page.locator("nav").wait_for()
        taken = []
        for _ in range(times + 1):
            page.goto(f"http://{host}:{port}/console/rooms/{house.facts['room']}")
            page.locator("[data-composer]").wait_for()
            taken.append(float(page.evaluate("performance.now()")))
        context.close()
    return taken[1:]


@contextlib.contextmanager
def _browser(program: str) -> Iterator[Any]:
    playwright = importlib.import_module("playwright.sync_api")  # only for those who develop Doorward
    flags = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as started:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = started.chromium.launch(executable_path=program, args=[*flags, *sandbox])
        try:
            yield browser
        finally:
            browser.close()
