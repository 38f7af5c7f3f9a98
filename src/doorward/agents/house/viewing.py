"""What came of a call, with its paths as they are seen from where the session is; `placing` is the other way round."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from doorward.agents.house.telling import Got


def inward(got: Got, folder: str | None) -> Got:
    """What came of a call, seen from the session's folder."""
    if not folder:
        return got
    inside = re.compile(rf"(?<![\w./~-]){re.escape(folder)}/")

    def seen(text: str) -> str:
        return "." if text == folder else inside.sub("", text)

    return msgspec.structs.replace(
        got,
        params=_each(got.params, seen),
        value=_each(got.value, seen),
        text=seen(got.text),
        message=seen(got.message),
    )


def _each(value: Any, seen: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return seen(value)
    if isinstance(value, dict):
        return {name: _each(one, seen) for name, one in value.items()}
    return [_each(one, seen) for one in value] if isinstance(value, list) else value
