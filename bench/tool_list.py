"""How long the list of very many tools takes: the whole of it, page by page."""

from __future__ import annotations

import json
import re
import statistics
import time
from pathlib import Path

from bench.mcp_requests import NEW, Client
from bench.serving import served
from bench.sizes import Sizes

_CURSOR = re.compile(rb'"nextCursor":"([^"]+)"')


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    with served("bench.house_server", folder / "tools", sizes.tools) as house:
        client = Client(house)
        try:
            first = _listed(client, sizes.tools)
            again = [_listed(client, sizes.tools) for _ in range(sizes.pages)]
        finally:
            client.close()
    return {"tools_first": first * 1e3, "tools_list": statistics.median(again) * 1e3}


def _listed(client: Client, least: int) -> float:
    """The seconds until the whole list has come, of which at least so many must be there. Reading it is not counted."""
    begun = time.perf_counter()
    pages = [client.ask(NEW, "tools/list")[1]]
    while (cursor := _CURSOR.search(pages[-1])) is not None:
        pages.append(client.ask(NEW, "tools/list", cursor=cursor[1].decode())[1])
    seconds = time.perf_counter() - begun
    count = sum(len(json.loads(page)["result"]["tools"]) for page in pages)
    if count < least:
        raise RuntimeError(f"a list of {least} tools was to be measured, but it has {count}")
    return seconds
