"""Read calls after the special tokens of model families, where a server passes those on as text."""

from __future__ import annotations

import re

from doorward.agents.calls import json_calls, python_calls
from doorward.agents.calls.parsed import JSON_EXAMPLE, CallMatch, ParsedCall, describe_fault
from doorward.agents.calls.scanner import Scanner

_BAR = "[|｜]"
_NAMED = r"(?P<{group}>[A-Za-z_][A-Za-z0-9_./-]{{0,199}})"

OPENING = r"\|python_(?:tag|start)\|>|\|tool_call\|>|\|START_ACTION\|>|\|action_start\|>(?:<\|plugin\|>)?|<function>>"
"""After an opening bracket: a token, followed by JSON, a name and JSON, or a call in Python syntax."""
OTHER_OPENING = r"\[TOOL_CALLS\]|(?<![\w.])functools(?=\[)"

_RECIPIENT = r"(?:<\|channel\|>\w++)?[ \t]*+(?:<\|constrain\|>)?(?:json|code)?[ \t]*+<\|message\|>"
NAMED_OPENING = (
    rf"{_BAR}tool[_▁]call[_▁]begin{_BAR}>(?:function<{_BAR}tool[_▁]sep{_BAR}>)?"
    + _NAMED.format(group="begun")
    + rf"(?::\d++)?\s*+(?:<{_BAR}tool[_▁](?:sep|call[_▁]argument[_▁]begin){_BAR}>)?\s*+(?:```(?:json)?[ \t]*+\n)?"
    + r"|\|channel\|>\w++ ?to="
    + _NAMED.format(group="sent")
    + _RECIPIENT
)
"""After an opening bracket: a token that includes the tool name; its arguments follow."""
OTHER_NAMED = rf"\bto={_NAMED.format(group='sent_to')}{_RECIPIENT}"

LEFTOVER = rf"{_BAR}/?[A-Za-z_▁]{{1,40}}{_BAR}>(?:assistant\b)?|/s>"
"""After an opening bracket: tokens without a meaning of their own."""
OTHER_LEFTOVER = rf"\[/TOOL_CALLS\]|(?<=[}}\])])\s*+```(?=\s*+<{_BAR}tool[_▁]call[_▁]end)"

_NAME = re.compile(
    r"\s*+(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,199})(?:\[CALL_ID\][^\[{\s]{1,64})?(?:\[ARGS\])?\s*+(?=\{)"
)
_NEXT_VALUE = re.compile(r"\s*+;?\s*+(?=[\[{])")
_ENDS = re.compile(r"\n|<\||\Z")


def read_marked(page: Scanner, opening: re.Match[str]) -> CallMatch:
    at = page.skip_whitespace(opening.end())
    if page.text[at : at + 1] in ("{", "["):
        code = python_calls.HEAD.match(page.text, page.skip_whitespace(at + 1)) if page.text[at] == "[" else None
        return _read_python(page, at, opening) if code else _read_json(page, at, opening)
    named = page.match(_NAME, at)
    if named is not None:
        return _read_arguments(page, named["name"], named.end(), opening)
    return _read_python(page, at, opening)


def read_named(page: Scanner, opening: re.Match[str]) -> CallMatch:
    return _read_arguments(page, opening["begun"] or opening["sent"] or opening["sent_to"], opening.end(), opening)


def _read_json(page: Scanner, at: int, opening: re.Match[str]) -> CallMatch:
    calls: list[ParsedCall] = []
    faults: list[str] = []
    while True:
        end = page.end_of_json(at)
        if end < 0:
            return _report_unclosed(page, opening)
        found = json_calls.read_json(page.text[at:end], end, marked=True)
        calls += found.calls
        faults += found.faults
        again = page.match(_NEXT_VALUE, end)
        if again is None:
            return CallMatch(end=end, calls=tuple(calls), faults=tuple(faults))
        at = again.end()


def _read_arguments(page: Scanner, name: str, at: int, opening: re.Match[str]) -> CallMatch:
    at = page.skip_whitespace(at)
    if page.text[at : at + 1] != "{":
        why = f"the name {name} is not followed by a JSON object"
        return CallMatch(
            end=page.end_of_line(at), faults=(describe_fault(why, JSON_EXAMPLE, page.text[opening.start() :][:300]),)
        )
    end = page.end_of_json(at)
    if end < 0:
        return _report_unclosed(page, opening)
    read = json_calls.build_call(name, page.text[at:end], page.text[opening.start() : end])
    return CallMatch(end=end, calls=(read,)) if isinstance(read, ParsedCall) else CallMatch(end=end, faults=(read,))


def _read_python(page: Scanner, at: int, opening: re.Match[str]) -> CallMatch:
    last = page.search(_ENDS, at)
    until = last.start() if last else len(page.text)
    inside = Scanner(page.text[at:until].rstrip())
    found = python_calls.read_calls(inside, 0, len(inside.text))
    if found is None:
        why = 'its token is followed by neither JSON nor a call such as data_list(collection="rooms")'
        return CallMatch(end=until, faults=(describe_fault(why, JSON_EXAMPLE, page.text[opening.start() : until]),))
    return CallMatch(end=until, calls=found.calls, faults=found.faults)


def _report_unclosed(page: Scanner, opening: re.Match[str]) -> CallMatch:
    why = "it is cut off: a bracket is never closed; nothing after it was read"
    given = page.text[opening.start() : opening.start() + 300]
    return CallMatch(end=len(page.text), faults=(describe_fault(why, JSON_EXAMPLE, given),))
