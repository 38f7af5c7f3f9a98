"""The requests in docs/LINE.md are sent, and give what the page shows; its tables name what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from doorward.config.settings import LineSettings
from doorward.doors.line.environment import VARIABLES
from doorward.doors.line.frames import METHODS

PAGE = (Path(__file__).parents[3] / "docs" / "LINE.md").read_text()
_BLOCK = re.compile(r"^```line\n(.*?)^```$", re.MULTILINE | re.DOTALL)


async def test_every_request_on_the_page_gives_what_the_page_shows(line):
    lines = "".join(_BLOCK.findall(PAGE)).splitlines()
    assert len([one for one in lines if one.startswith("> ")]) > 8
    async with line(room="general", quiet_seconds=600.0, progress_seconds=600.0) as house:
        wire = await house.wire()
        for text in lines:
            if text.startswith("> "):
                wire.raw(text[2:])
                continue
            expected = ".*".join(re.escape(part) for part in text.removeprefix("< ").split("…"))
            came = json.dumps(await wire.line(), separators=(",", ":"), ensure_ascii=False)
            assert re.fullmatch(expected, came, re.DOTALL), f"{text}\n{came}"


def test_the_page_names_every_method_variable_and_limit() -> None:
    assert [name for name in (*METHODS, *VARIABLES) if f"`{name}`" not in PAGE] == []
    limits = [name for name in LineSettings.__struct_fields__ if name.endswith("_seconds") and f"{name}`" not in PAGE]
    assert limits == ["progress_seconds"]
