"""Read calls in tags: `<tool_use>`, `<tool_call>`, `<function=…>`, `<invoke name="…">` and similar."""

from __future__ import annotations

import re

from doorward.agents.calls import json_calls, lines, python_calls
from doorward.agents.calls.parsed import CallMatch, ParsedCall, describe_fault
from doorward.agents.calls.scanner import Scanner

_TAGS = r"tool_use|tool_calls?|function_calls?|functioncall|tool_code|invoke|function|tool"
OPENING = (
    rf"(?P<tag>(?:[a-z]{{1,12}}:)?(?:{_TAGS}))"
    r"(?:=(?P<equals>[^<>\s]{1,200})|(?P<attributes>[ \t][^<>\n]{0,300}))?\s*+>"
)
CLOSING = rf"/(?:[a-z]{{1,12}}:)?(?:{_TAGS})>"
"""A leftover closing tag of a wrapper around calls. Both patterns follow an opening bracket."""

TAG_EXAMPLE = "valid is <tool_use><tool_name>data/list</tool_name><parameters>{}</parameters></tool_use>"

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


def read_tag(page: Scanner, opening: re.Match[str]) -> CallMatch | None:
    """Read the content of a tag. A tag around other tags is skipped, and those are read one by one."""
    name, at = opening["tag"], opening.end()
    attribute = _NAME_ATTRIBUTE.search(opening["attributes"] or "")
    called = opening["equals"] or (attribute["name"] if attribute else "")
    kind = name.rpartition(":")[2]
    if kind in ("function", "tool", "invoke") and not called:
        return None
    if not called and page.match(_INNER, at) is not None:
        return CallMatch(end=at)
    try:
        return _read_inside(page, opening, called.strip("\"'"), f"</{name}>", kind)
    except _Unreadable as error:
        end = page.find(f"</{name}>", at) if error.ends else -1
        end, more = (end + len(name) + 3, "") if end >= 0 else (len(page.text), "; nothing after it was read")
        given = page.text[opening.start() : opening.start() + 300]
        return CallMatch(end=end, faults=(describe_fault(f"{error}{more}", TAG_EXAMPLE, given),))


def _read_inside(page: Scanner, opening: re.Match[str], called: str, closing: str, kind: str) -> CallMatch:
    at = page.skip_whitespace(opening.end())
    if page.text[at : at + 1] in ("{", "["):
        return _read_json(page, at, called, closing)
    if called:
        pairs, at = _read_parameters(page, at, closing)
        return _build_call(page, at, closing, called, pairs, opening.start())
    if (named := page.match(_NAME_TAG, at)) is not None:
        return _read_children(page, named, closing, opening.start())
    if kind != "tool_code" and (word := page.match(_WORD, at)) is not None:
        pairs, end = _read_key_values(page, word.end())
        return _build_call(page, end, closing, word["name"], pairs, opening.start())
    return _read_text(page, at, closing)


def _read_json(page: Scanner, at: int, called: str, closing: str) -> CallMatch:
    """Read one or more JSON values. JSON shows where it ends, so a missing closing tag is accepted."""
    calls: list[ParsedCall] = []
    faults: list[str] = []
    while page.text[at : at + 1] in ("{", "["):
        end = page.end_of_json(at)
        if end < 0:
            raise _CutOff("it is cut off: a bracket is never closed")
        text = page.text[at:end]
        if called:
            read = json_calls.build_call(called, text, text)
            found = (
                CallMatch(end=end, calls=(read,))
                if isinstance(read, ParsedCall)
                else CallMatch(end=end, faults=(read,))
            )
        else:
            found = json_calls.read_json(text, end, marked=True)
        calls += found.calls
        faults += found.faults
        at = page.skip_whitespace(end)
    if page.text.startswith(closing, at):
        at += len(closing)
    elif at < len(page.text) and not page.text.startswith("<", at):
        raise _Unreadable("its JSON is followed by other text")
    return CallMatch(end=at, calls=tuple(calls), faults=tuple(faults))


def _read_parameters(page: Scanner, at: int, closing: str) -> tuple[list[tuple[str, str]], int]:
    pairs = []
    while (opened := page.match(_PARAMETER, at)) is not None:
        value, at = _read_value(page, opened.end(), f"</{opened['tag']}>")
        pairs.append(((opened["equals"] or opened["name"]).strip("\"'"), value))
    return pairs, at


def _read_key_values(page: Scanner, at: int) -> tuple[list[tuple[str, str]], int]:
    pairs = []
    while (opened := page.match(_KEY_VALUE, at)) is not None:
        value, at = _read_value(page, opened.end(), "</arg_value>")
        pairs.append((opened["key"].strip(), value))
    return pairs, at


def _read_children(page: Scanner, named: re.Match[str], closing: str, start: int) -> CallMatch:
    """Read a name in a tag of its own, and arguments in another: as JSON, or each in its own tag."""
    at = named.end()
    around = page.match(_ARGUMENTS_TAG, at)
    if around is None:
        return _build_call(page, at, closing, named["name"], [], start)
    at, inner = around.end(), f"</{around['tag']}>"
    if page.text[at : at + 1] == "{":
        end = page.end_of_json(at)
        if end < 0:
            raise _CutOff("it is cut off: a bracket is never closed")
        read = json_calls.build_call(named["name"], page.text[at:end], page.text[start:end])
        at = page.skip_whitespace(end)
        if not page.text.startswith(inner, at):
            raise _Unreadable(f"its arguments are followed by other text, or {inner} is missing")
        end = _find_end(page, at + len(inner), closing)
        return CallMatch(end=end, calls=(read,)) if isinstance(read, ParsedCall) else CallMatch(end=end, faults=(read,))
    pairs, at = _read_parameters(page, at, inner)
    while (opened := page.match(_CHILD, at)) is not None:
        value, at = _read_value(page, opened.end(), f"</{opened['name']}>")
        pairs.append((opened["name"], value))
    at = page.skip_whitespace(at)
    if not page.text.startswith(inner, at):
        raise _Unreadable(f"its arguments are neither a JSON object nor tags, or {inner} is missing")
    return _build_call(page, at + len(inner), closing, named["name"], pairs, start)


def _read_value(page: Scanner, at: int, closing: str) -> tuple[str, int]:
    end = page.find(closing, at)
    if end < 0:
        raise _CutOff(f"it is cut off: {closing} is missing")
    text = page.text[at:end].removeprefix("\r").removeprefix("\n").removesuffix("\n")
    return (text if "\n" in text else text.strip()), end + len(closing)


def _read_text(page: Scanner, at: int, closing: str) -> CallMatch:
    """Read a call in Python syntax or as a line."""
    end = page.find(closing, at)
    if end < 0:
        raise _CutOff(f"it is cut off: {closing} is missing")
    inside = Scanner(page.text[at:end].strip().removeprefix("EXECUTE:").strip())
    found = python_calls.read_calls(inside, 0, len(inside.text)) or lines.read_unmarked(inside.text)
    if found is None or found.end < len(inside.text):
        raise _Unreadable("it holds no readable call")
    return CallMatch(end=end + len(closing), calls=found.calls, faults=found.faults)


def _build_call(page: Scanner, at: int, closing: str, name: str, pairs: list[tuple[str, str]], start: int) -> CallMatch:
    end = _find_end(page, at, closing)
    read = json_calls.build_call(name, {}, "")
    if not isinstance(read, ParsedCall):
        return CallMatch(end=end, faults=(read,))
    return CallMatch(end=end, calls=(ParsedCall(name=read.name, args=tuple(pairs), raw=page.text[start:end]),))


def _find_end(page: Scanner, at: int, closing: str) -> int:
    at = page.skip_whitespace(at)
    if page.text.startswith(closing, at):
        return at + len(closing)
    raise _Unreadable(f"it is cut off, or contains something that is not a parameter: {closing} is missing")
