"""Read calls after the special tokens of model families, where a server passes those on as text."""

from __future__ import annotations

import re

from doorward.agents.calls import jsoncalls, pythonic
from doorward.agents.calls.found import AS_JSON, Found, fault
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Wanted

_BAR = "[|｜]"
_NAMED = r"(?P<{group}>[A-Za-z_][A-Za-z0-9_./-]{{0,199}})"

OPENING = r"\|python_(?:tag|start)\|>|\|tool_call\|>|\|START_ACTION\|>|\|action_start\|>(?:<\|plugin\|>)?|<function>>"
"""After an opening bracket: a token, followed by JSON, a name and JSON, or a call in Python syntax."""
OTHER_OPENING = r"\[TOOL_CALLS\]|(?<![\w.])functools(?=\[)"

_TO = r"(?:<\|channel\|>\w++)?[ \t]*+(?:<\|constrain\|>)?(?:json|code)?[ \t]*+<\|message\|>"
NAMED_OPENING = (
    rf"{_BAR}tool[_▁]call[_▁]begin{_BAR}>(?:function<{_BAR}tool[_▁]sep{_BAR}>)?"
    + _NAMED.format(group="begun")
    + rf"(?::\d++)?\s*+(?:<{_BAR}tool[_▁](?:sep|call[_▁]argument[_▁]begin){_BAR}>)?\s*+(?:```(?:json)?[ \t]*+\n)?"
    + r"|\|channel\|>\w++ ?to="
    + _NAMED.format(group="sent")
    + _TO
)
"""After an opening bracket: a token that includes the tool name; its arguments follow."""
OTHER_NAMED = rf"\bto={_NAMED.format(group='sent_to')}{_TO}"

REMAINS = rf"{_BAR}/?[A-Za-z_▁]{{1,40}}{_BAR}>(?:assistant\b)?|/s>"
"""After an opening bracket: tokens without a meaning of their own."""
OTHER_REMAINS = rf"\[/TOOL_CALLS\]|(?<=[}}\])])\s*+```(?=\s*+<{_BAR}tool[_▁]call[_▁]end)"

_NAME = re.compile(
    r"\s*+(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,199})(?:\[CALL_ID\][^\[{\s]{1,64})?(?:\[ARGS\])?\s*+(?=\{)"
)
_AGAIN = re.compile(r"\s*+;?\s*+(?=[\[{])")
_ENDS = re.compile(r"\n|<\||\Z")


def marked(page: Page, opening: re.Match[str]) -> Found:
    at = page.after_blanks(opening.end())
    if page.text[at : at + 1] in ("{", "["):
        code = pythonic.HEAD.match(page.text, page.after_blanks(at + 1)) if page.text[at] == "[" else None
        return _like_code(page, at, opening) if code else _json(page, at, opening)
    named = page.match(_NAME, at)
    if named is not None:
        return _arguments(page, named["name"], named.end(), opening)
    return _like_code(page, at, opening)


def named(page: Page, opening: re.Match[str]) -> Found:
    return _arguments(page, opening["begun"] or opening["sent"] or opening["sent_to"], opening.end(), opening)


def _json(page: Page, at: int, opening: re.Match[str]) -> Found:
    calls: list[Wanted] = []
    faults: list[str] = []
    while True:
        end = page.end_of_json(at)
        if end < 0:
            return _cut(page, opening)
        found = jsoncalls.read_json(page.text[at:end], end, marked=True)
        calls += found.calls
        faults += found.faults
        again = page.match(_AGAIN, end)
        if again is None:
            return Found(end=end, calls=tuple(calls), faults=tuple(faults))
        at = again.end()


def _arguments(page: Page, name: str, at: int, opening: re.Match[str]) -> Found:
    at = page.after_blanks(at)
    if page.text[at : at + 1] != "{":
        why = f"the name {name} is not followed by a JSON object"
        return Found(end=page.end_of_line(at), faults=(fault(why, AS_JSON, page.text[opening.start() :][:300]),))
    end = page.end_of_json(at)
    if end < 0:
        return _cut(page, opening)
    read = jsoncalls.call(name, page.text[at:end], page.text[opening.start() : end])
    return Found(end=end, calls=(read,)) if isinstance(read, Wanted) else Found(end=end, faults=(read,))


def _like_code(page: Page, at: int, opening: re.Match[str]) -> Found:
    last = page.search(_ENDS, at)
    until = last.start() if last else len(page.text)
    inside = Page(page.text[at:until].rstrip())
    found = pythonic.several(inside, 0, len(inside.text))
    if found is None:
        why = 'its token is followed by neither JSON nor a call such as data_list(collection="rooms")'
        return Found(end=until, faults=(fault(why, AS_JSON, page.text[opening.start() : until]),))
    return Found(end=until, calls=found.calls, faults=found.faults)


def _cut(page: Page, opening: re.Match[str]) -> Found:
    why = "it is cut off: a bracket is never closed; nothing after it was read"
    given = page.text[opening.start() : opening.start() + 300]
    return Found(end=len(page.text), faults=(fault(why, AS_JSON, given),))
