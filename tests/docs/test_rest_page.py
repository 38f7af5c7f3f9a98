"""The console blocks of docs/REST.md do what the page says, against a house of their own."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from console_blocks import ROOT

from doorward_process import Doorward
from waiting import PATIENCE

PAGE = (ROOT / "docs" / "REST.md").read_text()
BLOCKS = re.findall(r"^```(sh|json)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """Follows the page's blocks: `doorward` is the real program, and curl the same request by another client."""
    doorward = Doorward(tmp_path / "home")
    with doorward.serving() as server:
        made = doorward("token", "create", "laptop", "--kind", "human", "--access", "root", "--json").json
        known = {"TOKEN": made["result"]["token"], "URL": f"http://{server.host}:{server.port}"}

        def follow(line: str) -> Any:
            words = shlex.split(re.sub(r"\$(TOKEN|URL)", lambda match: known[match[1]], line))
            typed = None
            if words[0] == "echo":  # … | doorward
                typed, words = f"{words[1]}\n", words[3:]
            if words[0] == "doorward":
                ended = doorward(*words[1:], stdin=typed)
                assert ended.code == 0, ended
                return None
            return curl(words)

        yield follow


def curl(words: list[str]) -> Any:
    """The few options of curl that the page uses."""
    assert words[0] == "curl", words
    method, headers, body, url, rest = "GET", {}, None, "", iter(words[1:])
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(rest)
        else:
            url = word
    return httpx2.request(method, url, headers=headers, content=body, timeout=PATIENCE, trust_env=False).json()


def test_the_page_is_true(shell: Any) -> None:
    answered: Any = None
    checked = 0
    for language, text in BLOCKS:
        if language == "json":
            told = json.loads(text)
            assert {name: answered.get(name) for name in told} == told
            checked += 1
            continue
        for line in text.splitlines():
            if not line.startswith(("TOKEN=", "URL=")):
                answered = shell(line)
                if answered is not None:
                    assert "status" not in answered or answered["status"] in ("done", 404), answered
    assert checked >= 5
