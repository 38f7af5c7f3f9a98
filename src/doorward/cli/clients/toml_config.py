"""Sets or removes one table of a TOML configuration file, leaving every other byte unchanged."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from doorward.config.jsonc import UneditableText, UnreadableText

_TOKENS = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def entries(text: str, container: str) -> dict[str, Any]:
    """Return all tables."""
    inside = _parse(text).get(container)
    return inside if isinstance(inside, dict) else {}


def entry(text: str, container: str, name: str) -> Any:
    """Return the table, or None."""
    return entries(text, container).get(name)


def set_entry(text: str, container: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the text with this table, replacing the existing one or appended."""
    there = entry(text, container, name)
    if there == value:
        return text
    line = "\r\n" if "\r\n" in text else "\n"
    table = line.join(
        [
            f"[{_format_key(container)}.{_format_key(name)}]",
            *(f"{_format_key(k)} = {_format_value(v)}" for k, v in value.items()),
        ]
    )
    if there is None:
        gap = "" if not text else line if text.endswith("\n") else line * 2
        changed = text + gap + table + line
    else:
        begin, end = _find_table(text, container, name)
        changed = text[:begin] + table + line + text[end:]
    return _verify_edit(text, changed, container, name, dict(value))


def remove_entry(text: str, container: str, name: str) -> str:
    """Return the text without this table."""
    if entry(text, container, name) is None:
        return text
    begin, end = _find_table(text, container, name)
    before = text[:begin]
    if before.endswith(("\n\n", "\n\r\n")) and (not text[end:] or text[end:].startswith(("\n", "\r\n"))):
        before = before.removesuffix("\n").removesuffix("\r")
    return _verify_edit(text, before + text[end:], container, name, None)


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableText(str(error)) from error


def _verify_edit(text: str, changed: str, container: str, name: str, value: Any) -> str:
    """Parse the edited text and verify that only our table differs. Raises otherwise."""
    expected = _parse(text)
    known = container in expected
    inside = expected.setdefault(container, {})
    if not isinstance(inside, dict):
        raise UneditableText(f"{container} must be a table")
    adding = known and name not in inside
    if value is not None:
        inside[name] = value
    else:
        inside.pop(name, None)
    try:
        found = _parse(changed)
    except UnreadableText as error:
        if adding:
            raise UneditableText(
                f"{container} is an inline table, which cannot be extended; write it as [{container}.NAME] tables, or"
                " copy the entry from --print"
            ) from error
        found = {}
    found.setdefault(container, {})
    if found != expected:
        raise UneditableText(f"{container}.{name} is not one plain table; edit it by hand, or see --print")
    return changed


def _find_table(text: str, container: str, name: str) -> tuple[int, int]:
    """Return the start and end of our table, without the blank lines and comments before the next one."""
    headers = [*_find_headers(text), (len(text), [""])]
    ours = [place for place, (_, path) in enumerate(headers) if path[:2] == [container, name]]
    if not ours or headers[ours[0]][1] != [container, name] or ours != list(range(ours[0], ours[-1] + 1)):
        raise UneditableText(f"{container}.{name} is not one plain table; edit it by hand, or see --print")
    begin, end = headers[ours[0]][0], headers[ours[-1] + 1][0]
    lines = text[begin:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return begin, begin + sum(len(line) for line in lines)


def _find_headers(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the start and the path of each `[table]` header."""
    depth, fresh = 0, 0
    for piece in _TOKENS.finditer(text):
        sign = piece[0]
        if sign == "\n":
            fresh = piece.end()
        elif sign == "[" and depth == 0 and not text[fresh : piece.start()].strip(" \t\ufeff"):
            end = text.find("\n", piece.start())
            yield fresh, _header_path(text[fresh : len(text) if end < 0 else end].strip("\ufeff\r"))
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1


def _header_path(header: str) -> list[str]:
    path = []
    found: Any = _parse(header)
    while isinstance(found, list | dict) and found:
        if isinstance(found, dict):
            path.append(next(iter(found)))
            found = found[path[-1]]
        else:
            found = found[0]
    return path


def _format_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_format_key(key)} = {_format_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_format_value(one) for one in value) + "]"
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False)
    raise UneditableText(f"Doorward's entry contains a {type(value).__name__}; edit that entry by hand")
