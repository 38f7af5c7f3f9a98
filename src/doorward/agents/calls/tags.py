"""Read calls in tags: `<tool_use>`, `<tool_call>`, `<function=…>`, `<invoke name="…">` and similar."""

from __future__ import annotations

import re

from doorward.agents.calls import jsoncalls, lines, pythonic
from doorward.agents.calls.found import Found, fault
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Wanted

_TAGS = r"tool_use|tool_calls?|function_calls?|functioncall|tool_code|invoke|function|tool"
OPENING = (
    rf"(?P<tag>(?:[a-z]{{1,12}}:)?(?:{_TAGS}))"
    r"(?:=(?P<equals>[^<>\s]{1,200})|(?P<attributes>[ \t][^<>\n]{0,300}))?\s*+>"
)
CLOSING = rf"/(?:[a-z]{{1,12}}:)?(?:{_TAGS})>"
"""A leftover closing tag of a wrapper around calls. Both patterns follow an opening bracket."""

AS_TAG = "valid is <tool_use><tool_name>data/list</tool_name><parameters>{}</parameters></tool_use>"

_NAME_ATTRIBUTE = re.compile(r"""[ \t](?:name|tool)=["']?(?P<name>[^"'\s>]{1,200})""")
_INNER = re.compile(rf"\s*+(?:<(?:[a-z]{{1,12}}:)?(?:{_TAGS})[ \t=>])")
_NAME_TAG = re.compile(r"\s*+<(?P<tag>tool_name|name|tool|function_name)>\s*+(?P<name>[^<>\n]{1,200}?)\s*+</(?P=tag)>")
_ARGUMENTS_TAG = re.compile(r"\s*+<(?P<tag>parameters|arguments|params|input|args)>\s*+")
_PARAMETER = re.compile(
    r"\s*+<(?P<tag>(?:[a-z]{1,12}:)?(?:parameter|param|argument|arg))"
    r"(?:=(?P<equals>[^<>\s]{1,100})|[ \t]++name=[\"']?(?P<name>[^\"'<>\s]{1,100})[\"']?[^<>\n]{0,100})>"
)
_CHILD = re.compile(r"\s*+<(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,99})>")
_KEY_VALUE = re.compile(r"\s*+<arg_key>(?P<key>[^<>]{1,100})</arg_key>\s*+<arg_value>")
_WORD = re.compile(r"\s*+(?P<name>[A-Za-z_][A-Za-z0-9_./:-]{0,199})[ \t]*+(?=\n|<|\Z)")


class _Unreadable(Exception):
    """Not a call. Reading continues after it, unless its end is missing: then all following text may belong to it."""

    ends = True


class _CutOff(_Unreadable):
    ends = False


def tag(page: Page, opening: re.Match[str]) -> Found | None:
    """Read the content of a tag. A tag around other tags is skipped, and those are read one by one."""
    name, at = opening["tag"], opening.end()
    attribute = _NAME_ATTRIBUTE.search(opening["attributes"] or "")
    called = opening["equals"] or (attribute["name"] if attribute else "")
    kind = name.rpartition(":")[2]
    if kind in ("function", "tool", "invoke") and not called:
        return None
    if not called and page.match(_INNER, at) is not None:
        return Found(end=at)
    try:
        return _inside(page, opening, called.strip("\"'"), f"</{name}>", kind)
    except _Unreadable as error:
        end = page.find(f"</{name}>", at) if error.ends else -1
        end, more = (end + len(name) + 3, "") if end >= 0 else (len(page.text), "; nothing after it was read")
        given = page.text[opening.start() : opening.start() + 300]
        return Found(end=end, faults=(fault(f"{error}{more}", AS_TAG, given),))


def _inside(page: Page, opening: re.Match[str], called: str, closing: str, kind: str) -> Found:
    at = page.after_blanks(opening.end())
    if page.text[at : at + 1] in ("{", "["):
        return _json(page, at, called, closing)
    if called:
        pairs, at = _parameters(page, at, closing)
        return _ended(page, at, closing, called, pairs, opening.start())
    if (named := page.match(_NAME_TAG, at)) is not None:
        return _children(page, named, closing, opening.start())
    if kind != "tool_code" and (word := page.match(_WORD, at)) is not None:
        pairs, end = _key_values(page, word.end())
        return _ended(page, end, closing, word["name"], pairs, opening.start())
    return _written(page, at, closing)


def _json(page: Page, at: int, called: str, closing: str) -> Found:
    """Read one or more JSON values. JSON shows where it ends, so a missing closing tag is accepted."""
    calls: list[Wanted] = []
    faults: list[str] = []
    while page.text[at : at + 1] in ("{", "["):
        end = page.end_of_json(at)
        if end < 0:
            raise _CutOff("it is cut off: a bracket is never closed")
        text = page.text[at:end]
        if called:
            read = jsoncalls.call(called, text, text)
            found = Found(end=end, calls=(read,)) if isinstance(read, Wanted) else Found(end=end, faults=(read,))
        else:
            found = jsoncalls.read_json(text, end, marked=True)
        calls += found.calls
        faults += found.faults
        at = page.after_blanks(end)
    if page.text.startswith(closing, at):
        at += len(closing)
    elif at < len(page.text) and not page.text.startswith("<", at):
        raise _Unreadable("its JSON is followed by other text")
    return Found(end=at, calls=tuple(calls), faults=tuple(faults))


def _parameters(page: Page, at: int, closing: str) -> tuple[list[tuple[str, str]], int]:
    pairs = []
    while (opened := page.match(_PARAMETER, at)) is not None:
        value, at = _value(page, opened.end(), f"</{opened['tag']}>")
        pairs.append(((opened["equals"] or opened["name"]).strip("\"'"), value))
    return pairs, at


def _key_values(page: Page, at: int) -> tuple[list[tuple[str, str]], int]:
    pairs = []
    while (opened := page.match(_KEY_VALUE, at)) is not None:
        value, at = _value(page, opened.end(), "</arg_value>")
        pairs.append((opened["key"].strip(), value))
    return pairs, at


def _children(page: Page, named: re.Match[str], closing: str, start: int) -> Found:
    """Read a name in a tag of its own, and arguments in another: as JSON, or each in its own tag."""
    at = named.end()
    around = page.match(_ARGUMENTS_TAG, at)
    if around is None:
        return _ended(page, at, closing, named["name"], [], start)
    at, inner = around.end(), f"</{around['tag']}>"
    if page.text[at : at + 1] == "{":
        end = page.end_of_json(at)
        if end < 0:
            raise _CutOff("it is cut off: a bracket is never closed")
        read = jsoncalls.call(named["name"], page.text[at:end], page.text[start:end])
        at = page.after_blanks(end)
        if not page.text.startswith(inner, at):
            raise _Unreadable(f"its arguments are followed by other text, or {inner} is missing")
        end = _end(page, at + len(inner), closing)
        return Found(end=end, calls=(read,)) if isinstance(read, Wanted) else Found(end=end, faults=(read,))
    pairs, at = _parameters(page, at, inner)
    while (opened := page.match(_CHILD, at)) is not None:
        value, at = _value(page, opened.end(), f"</{opened['name']}>")
        pairs.append((opened["name"], value))
    at = page.after_blanks(at)
    if not page.text.startswith(inner, at):
        raise _Unreadable(f"its arguments are neither a JSON object nor tags, or {inner} is missing")
    return _ended(page, at + len(inner), closing, named["name"], pairs, start)


def _value(page: Page, at: int, closing: str) -> tuple[str, int]:
    end = page.find(closing, at)
    if end < 0:
        raise _CutOff(f"it is cut off: {closing} is missing")
    text = page.text[at:end].removeprefix("\r").removeprefix("\n").removesuffix("\n")
    return (text if "\n" in text else text.strip()), end + len(closing)


def _written(page: Page, at: int, closing: str) -> Found:
    """Read a call in Python syntax or as a line."""
    end = page.find(closing, at)
    if end < 0:
        raise _CutOff(f"it is cut off: {closing} is missing")
    inside = Page(page.text[at:end].strip().removeprefix("EXECUTE:").strip())
    found = pythonic.several(inside, 0, len(inside.text)) or lines.bare(inside.text)
    if found is None or found.end < len(inside.text):
        raise _Unreadable("it holds no readable call")
    return Found(end=end + len(closing), calls=found.calls, faults=found.faults)


def _ended(page: Page, at: int, closing: str, name: str, pairs: list[tuple[str, str]], start: int) -> Found:
    end = _end(page, at, closing)
    read = jsoncalls.call(name, {}, "")
    if not isinstance(read, Wanted):
        return Found(end=end, faults=(read,))
    return Found(end=end, calls=(Wanted(name=read.name, args=tuple(pairs), raw=page.text[start:end]),))


def _end(page: Page, at: int, closing: str) -> int:
    at = page.after_blanks(at)
    if page.text.startswith(closing, at):
        return at + len(closing)
    raise _Unreadable(f"it is cut off, or contains something that is not a parameter: {closing} is missing")
