"""A thousand MCP clients that all ask at once, for a while: whether each is answered, and how soon."""

from __future__ import annotations

from pathlib import Path

from bench.mcp_requests import NEW, calling
from bench.serving import served
from bench.sizes import Sizes
from bench.volley import Volley
from doorward.doors.http.server import raise_file_limit


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    raise_file_limit(sizes.clients)
    with (
        served("bench.house_server", folder / "crowd", 0) as house,
        Volley(house.address, calling(house, NEW), sizes.clients) as volley,
    ):
        volley.during(sizes.crowd_seconds / 10)
        answers = volley.during(sizes.crowd_seconds)
    latest = sorted(answers.latencies)
    return {
        "crowd_calls": len(latest) / answers.seconds,
        "crowd_errors": float(answers.errors),
        "crowd_p99": latest[len(latest) * 99 // 100] * 1e3,
    }
