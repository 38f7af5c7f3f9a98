"""Every line of shell_lines.txt does what stands behind it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from typed_lines import Typing

_FILE = Path(__file__).with_name("shell_lines.txt")


class Row(NamedTuple):
    typed: str
    printed: str
    complaints: list[tuple[str, bool]]
    """Each complaint, and whether it is whole."""
    exit_code: int


def _row(lines: list[str]) -> Row:
    typed, printed, complaints, code = [lines[0][2:]], "", [], 0
    for line in lines[1:]:
        sign, _, rest = line.partition(" ")
        if sign == ">":
            typed.append(rest)
        elif sign in ("|", "|~"):
            printed += rest if sign == "|~" else f"{rest}\n"
        elif sign in ("!", "!~"):
            complaints.append((rest, sign == "!"))
        else:
            assert sign == "=", line
            code = int(rest)
    return Row("\n".join(typed), printed, complaints, code)


def _parts() -> dict[str, list[Row]]:
    parts: dict[str, list[list[str]]] = {}
    for line in _FILE.read_text().splitlines():
        if line.startswith("## "):
            rows = parts[line[3:]] = []
        elif line.startswith("$ "):
            rows.append([line])
        elif line and not line.startswith("# "):
            rows[-1].append(line)
    return {name: list(map(_row, rows)) for name, rows in parts.items()}


PARTS = _parts()


def test_there_are_enough_of_them() -> None:
    assert sum(map(len, PARTS.values())) >= 200


@pytest.mark.parametrize("part", PARTS)
async def test_lines_do_what_stands_behind_them(typing: Typing, part: str) -> None:
    typing.fresh()
    session = (await typing.ask("session/open")).result["session"]
    wrong = []
    for row in PARTS[part]:
        printed, complaints, code = await typing.line(row.typed, session)
        said = complaints.splitlines()
        as_told = len(said) == len(row.complaints) and all(
            one == told if whole else one.startswith(told)
            for one, (told, whole) in zip(said, row.complaints, strict=True)
        )
        if (printed, code) != (row.printed, row.exit_code) or not as_told:
            wrong.append(f"$ {row.typed}\n{printed}{complaints}= {code}")
    assert not wrong, "\n".join(wrong)
