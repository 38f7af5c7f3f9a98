"""Change single values of the settings file. The rest of its text, with its comments, stays as it is."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path

from doorward.config.files import replace_file
from doorward.config.settings import load_settings
from doorward.core.errors import Conflict, Unusable

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[")
Value = str | int | float | bool


def change_settings(file: Path, changes: Mapping[tuple[str, ...], Value]) -> None:
    """Set values, each named by its path such as `("models", "default")`, in one step.

    The new text is parsed before it replaces the old one: it must hold exactly the old values and these changes, and
    be valid. Raises `Conflict` if the file is written in a way that cannot be changed like this.
    """
    file = Path(os.path.realpath(file))  # a link stays a link
    load_settings(file)  # an invalid file is reported as such
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise Unusable(f"The settings file {file} cannot be read: {error.strerror}.") from error
    expected = deepcopy(tomllib.loads(text))
    for path, value in changes.items():
        table = expected
        for key in path[:-1]:
            table = table.setdefault(key, {})
        table[path[-1]] = value
        text = _set_line(text, path, value)
    try:
        changed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        changed = None
    if changed != expected:
        lines = "; ".join(f"{'.'.join(map(_quote_key, path))} = {_write(value)}" for path, value in changes.items())
        raise Conflict(
            f"The settings file {file} is written in a form that cannot be changed by a command.",
            hint=f"Change it yourself, to hold: {lines}. Then restart Doorward.",
        )
    replace_file(file, text.encode())


def _set_line(text: str, path: Sequence[str], value: Value) -> str:
    """Set a key in the text: on its line, below the header of its table, or in a new table at the end."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    line = f"{_quote_key(path[-1])} = {_write(value)}"
    header = f"[{'.'.join(map(_quote_key, path[:-1]))}]"
    start = next((at for at, one in enumerate(lines) if _strip_comment(one) == header), None)
    if start is None:
        gap = [""] if lines and lines[-1].strip() else []
        return "\n".join([*lines, *gap, header, line]) + "\n"
    end = next((at for at in range(start + 1, len(lines)) if _HEADER.match(lines[at])), len(lines))
    key = re.compile(rf'\s*(?:{re.escape(path[-1])}|"{re.escape(path[-1])}")\s*=')
    at = next((at for at in range(start + 1, end) if key.match(lines[at])), None)
    if at is None:
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        lines.insert(end, line)
    else:
        lines[at] = line
    return "\n".join(lines) + "\n"


def _strip_comment(line: str) -> str:
    return re.sub(r"\s+", "", line.partition("#")[0]) if line.lstrip().startswith("[") else ""


def _quote_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def _write(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)
