"""Parts of an order: paths, quotations and content, as they are typed."""

from __future__ import annotations

import re

from doorward.agents.house.mood import settle_age, strip_back, strip_front
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext

QUOTED = r"(?:\"[^\"]+\"|“[^”]+”|`[^`]+`|(?<!\w)'[^']+'(?!\w)|‘[^’]+’)"
_BARE = r"[\w.~/@+-]*[\w/~]"
PATH = rf"(?P<path>{QUOTED}|{_BARE})"
TARGET = rf"(?P<target>{QUOTED}|{_BARE})"
FILE = (
    r"(?:(?:the|a|an|my|our|that|this)\s+)?(?:(?:new|text|old|small|short)\s+)*(?:(?:file|document)\s+)?"
    r"(?:(?:called|named)\s+)?"
)
END = r"\s*[.!]*$"
WIDE = re.compile(r"\b(?:all|every|everything|any|anything|each|both|whole|entire|\w*body)\b|\*", re.IGNORECASE)
_MAX_BARE = 400
"""Characters outside quotation marks; an order that names what it changes needs no more."""
_ARTICLES = frozenset(("the", "a", "an", "file", "folder", "document", "my", "name", "new"))
_EMAIL = re.compile(r"[^/@\s]+@[\w-]+(?:\.[\w-]+)+")
_ENDS = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’"}
_NAMED = re.compile(r"[\w@+-][\w.@+-]*\.\w{1,10}|\.\w[\w.-]*")


class OrderText:
    """The text of an order without courtesy."""

    def __init__(self, text: str) -> None:
        self.to_end = settle_age(strip_front(text))
        """With everything up to its end, for content that is not quoted."""
        self.bare = strip_back(self.to_end).rstrip("? ")
        """Without courtesy at the end either."""
        self.is_long = len(re.sub(QUOTED, "", self.bare)) > _MAX_BARE
        """Whether it is too long for anything but an order with content up to its end."""

    def match(self, *patterns: str) -> re.Match[str] | None:
        found = (re.match(one, self.bare, re.IGNORECASE) for one in patterns if not self.is_long)
        return next((one for one in found if one is not None), None)

    def match_to_end(self, *patterns: str) -> re.Match[str] | None:
        found = (re.match(one, self.to_end, re.IGNORECASE | re.DOTALL) for one in patterns)
        return next((one for one in found if one is not None), None)


def read_paths(context: RequestContext, text: OrderText, verb: str, beside: str) -> list[tuple[str, str]]:
    """Return the paths behind a verb, each with the word before it; none if a word is not one of `beside`."""
    begins = re.match(verb, text.bare, re.IGNORECASE)
    if begins is None:
        return []
    found: list[tuple[str, str]] = []
    allowed, last = frozenset(beside.split()), ""
    tokens = Request(text.bare[begins.end() :]).tokens
    for at, token in enumerate(tokens):
        before, after = tokens[at - 1] if at else None, tokens[at + 1] if at + 1 < len(tokens) else None
        called = before is not None and before.lower in ("called", "named")
        near = (tokens[max(0, at - 2)], after) if called else (before, after)
        beside_folder = any(one is not None and one.lower in ("folder", "directory") for one in near)
        if token.kind in ("path", "quoted") and is_path(token.text, context):
            found.append((last, token.text))
        elif found and beside_folder and token.kind == "word" and token.lower not in allowed:
            found.append((last, f"{token.text}/"))
        elif token.kind == "mark" or token.lower in allowed:
            last = last if token.lower in _ARTICLES else token.lower
        else:
            return []
    return found


def unquote(text: str) -> str:
    """Return the text between quotation marks, if they hold all of it."""
    text = text.strip()
    end = _ENDS.get(text[:1], "")
    inside = text[1:-1]
    return inside if end and len(text) > 2 and text.endswith(end) and end not in inside else text


def is_quoted(text: str) -> bool:
    return unquote(text) != text.strip()


def is_path(text: str, context: RequestContext) -> bool:
    """Whether a word is the path of a file: it has an ending or a folder, or the folder holds such a file."""
    path = unquote(text)
    if not path or any(one in path for one in "*?\n") or path.strip("./~") == "":
        return False
    if _EMAIL.fullmatch(path):
        return False
    known = context.conversation.files
    last = path.rstrip("/").rpartition("/")[2]
    return "/" in path or _NAMED.fullmatch(last) is not None or path in known or f"{path}/" in known


def place(path: str, context: RequestContext) -> str:
    """Return a path as the file commands take it; home and tmp are folders of the workspace."""
    path, user = unquote(path), context.conversation.speaker
    if path == "~" or path.startswith("~/"):
        return f"home/{user}{path[1:]}" if user else f"home{path[1:]}"
    return path[1:] if path.startswith(("/tmp", "/home")) else path  # noqa: S108


def virtual(path: str) -> str:
    """Return the same path from the top of the virtual tree."""
    if path.startswith(("/", "~")):
        return path
    first = path.partition("/")[0]
    return f"/{path}" if first in ("home", "tmp") else "/workspace" if path == "." else f"/workspace/{path}"
