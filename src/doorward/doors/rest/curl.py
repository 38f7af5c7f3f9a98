"""Renders an operation of the OpenAPI document as a curl command with sample values."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from doorward.doors.rest.reading import EVENT_STREAM, JSON

SAMPLE = "x-doorward-sample"
"""Extension key of a sample value for people. It is not a standard `example`, because tools run those and some
samples delete."""
_NAMED = re.compile(r"\{(\w+)\}")


def curl(method: str, path: str, one: Mapping[str, Any], body: Mapping[str, Any], here: str) -> str:
    """`body` is the schema of the request body, and `here` the URL of the server."""
    lines = ["curl" if method == "GET" else f"curl -X {method}"]
    if _only_streams(one):
        lines[0] += " -N"
    if one.get("security") != []:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    for format, content in one.get("requestBody", {}).get("content", {}).items():
        lines.append(f"-H 'Content-Type: {format}'")
        if format == JSON:
            example = content.get("example", dict.fromkeys(body.get("required", []), "…"))
            lines.append(f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}")
        else:
            lines.append("--data-binary @picture.png")
    lines.append(f"'{here}{_address(path, one['parameters'])}'")
    return " \\\n  ".join(lines)


def _address(path: str, parameters: list[Mapping[str, Any]]) -> str:
    """The path with sample values, because curl interprets braces, and with the required query parameters."""
    samples = {spec["name"]: quote(str(spec.get(SAMPLE, spec["name"].upper())), safe="") for spec in parameters}
    needed = [spec["name"] for spec in parameters if spec["in"] == "query" and spec["required"]]
    query = "?" + "&".join(f"{name}={samples[name]}" for name in needed) if needed else ""
    return _NAMED.sub(lambda found: samples[found[1]], path) + query


def _only_streams(one: Mapping[str, Any]) -> bool:
    return any([*answer.get("content", {})] == [EVENT_STREAM] for answer in one["responses"].values())
