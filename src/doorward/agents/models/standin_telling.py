"""Results put into words by the stand-in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from doorward import strictjson
from doorward.agents import data
from doorward.agents.models.model import Turn
from doorward.agents.models.standin_rules import Teller, book
from doorward.agents.models.standin_words import stems

_HEAD = re.compile(r"(?P<approved>A person said yes\. )?(?P<command>[\w/.-]+): (?P<status>done|refused|failed)\b")
_DECLINED = re.compile(r"(?P<command>[\w/.-]+): (?P<why>[^\n]+)")
_ITEM = re.compile(r"^\d+\. (?P<value>.+)$", re.MULTILINE)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*Z?")
_ONE_WORD = re.compile(r"[^\s,“”]+")
_LONGEST = 300
_MOST_LINES = 60


class Result(msgspec.Struct, frozen=True):
    """What came of a call, as far as its text can be read."""

    tool: str
    command: str
    status: str
    message: str = ""
    approved: bool = False
    items: list[Any] | None = None
    value: dict[str, Any] | None = None
    output: str = ""


def understood(turn: Turn) -> Result:
    """The result in a turn."""
    head = _HEAD.match(turn.text)
    body = data.unmarked(turn.text)
    if head is None:
        other = _DECLINED.match(turn.text)
        if "approval" in turn.text or "waits" in turn.text:
            return Result(turn.tool, turn.tool, "parked", turn.text)
        command, why = (other["command"], other["why"]) if other else (turn.tool, turn.text)
        return Result(turn.tool, command, "declined", why)
    tool, command, approved = turn.tool, head["command"], head["approved"] is not None
    if head["status"] != "done":
        message = body.removeprefix("Command failed: ").strip()
        return Result(tool, command, head["status"], message, approved)
    if body.startswith("Found "):
        return Result(tool, command, "done", approved=approved, items=[_value(one) for one in _ITEM.findall(body)])
    output = body.removeprefix("Result: ")
    value = _value(output)
    if isinstance(value, dict):
        return Result(tool, command, "done", approved=approved, value=value)
    return Result(tool, command, "done", approved=approved, output=output)


def told(result: Result, teller: Teller, *, wanted: Sequence[str] = (), question: str = "", period: str = "") -> str:
    """A result in words. `wanted` are the words that were asked about, which the best finds hold."""
    words = book()
    if result.status != "done":
        template = getattr(words, result.status)
        return str(template.format(command=result.command, message=_line(result.message)))
    if result.items is not None:
        text = _listed(result.items, teller, wanted, question, period)
    elif result.value is not None and teller.value:
        text = teller.value.format_map(_Shown(result.value, teller.quote))
    else:
        output = result.output if result.value is None else msgspec.json.encode(result.value).decode()
        template = teller.text or "It gave:\n{output}"
        text = template.format_map(_Shown({"output": output or "(nothing)"}, "output"))
    return f"{words.approved} {text}" if result.approved else text


def _listed(items: list[Any], teller: Teller, wanted: Sequence[str], question: str, period: str) -> str:
    asked = " ".join(question.split())
    if teller.leave_questions:
        items = [one for one in items if not _is_question(one, asked)]
    if teller.leave_asked:
        items = [one for one in items if " ".join(str(_field(one, "text")).split()) != asked]
    if teller.rank and wanted:
        items = sorted(items, key=lambda one: -len(stems(str(_field(one, teller.rank))) & set(wanted)))
        best = len(stems(str(_field(items[0], teller.rank))) & set(wanted)) if items else 0
        items = [one for one in items if len(stems(str(_field(one, teller.rank))) & set(wanted)) == best]
    facts: dict[str, Any] = {"count": len(items), "period": period, "names": _names(items, teller)}
    facts |= {field: sum(_number(_field(one, field)) for one in items) for field in teller.total}
    facts |= {field: _mean(items, field, teller.weight) for field in teller.average}
    lines = [teller.item.format_map(_Shown(one)) for one in items[: teller.most]] if teller.item else []
    more = [f"- and {len(items) - teller.most} more"] if len(items) > teller.most else []
    facts["lines"] = "\n".join([*lines, *more])
    template = teller.none if not items else teller.one if len(items) == 1 else teller.many
    return template.format_map(facts)


def _is_question(item: Any, question: str) -> bool:
    text = " ".join(str(_field(item, "text")).split())
    return text == question or text.endswith("?") or not text


def _names(items: Iterable[Any], teller: Teller) -> str:
    found = [_as_name(_line(str(_field(one, teller.name) if teller.name else one))) for one in items]
    shown = found[: teller.most]
    more = [f"{len(found) - len(shown)} more"] if len(found) > len(shown) else []
    return in_a_row([*shown, *more])


def _as_name(name: str) -> str:
    """A name in a list, in quotation marks where it could be taken for several."""
    return name if _ONE_WORD.fullmatch(name) else f"“{name}”"


def in_a_row(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _mean(items: Iterable[Any], field: str, weight: str) -> str:
    pairs = [(_number(_field(one, field)), _number(_field(one, weight)) or 1) for one in items]
    whole = sum(many for _, many in pairs)
    return f"{sum(value * many for value, many in pairs) / whole:.0f}" if whole else "0"


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0


def _field(item: Any, name: str) -> Any:
    return item.get(name, "") if isinstance(item, dict) else item


class _Shown(dict[str, str]):
    """The fields of an item as they stand in a sentence: on one line and not too long, or quoted line by line."""

    def __init__(self, item: Any, quote: str = "") -> None:
        self._item = item
        self._quote = quote

    def __missing__(self, name: str) -> str:
        if name == "all":
            return _line(self._item if isinstance(self._item, str) else msgspec.json.encode(self._item).decode())
        value = _field(self._item, name)
        return quoted(str(value)) if name == self._quote else _line(str(value)) or "(none)"


def quoted(text: str) -> str:
    """What somebody else wrote, marked as such on every line, so that nothing in it is taken for the stand-in's own."""
    lines = text.rstrip().splitlines() or ["(nothing)"]
    shown = [f"> {line[:_LONGEST]}" for line in lines[:_MOST_LINES]]
    more = [f"({len(lines) - _MOST_LINES} more lines)"] if len(lines) > _MOST_LINES else []
    return "\n".join([*shown, *more])


def _line(text: str) -> str:
    text = _TIME.sub(r"\1 \2", " ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _value(text: str) -> Any:
    try:
        return strictjson.loads(text)
    except strictjson.NotJson:
        return text
