"""What a request asks about files: which files it means, and what it wants to know of them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doorward.agents.house.file_names import FileNames, find_names
from doorward.agents.house.file_query import FileQuery, find_query
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import name_words, singular

_JOINTS = re.compile(r"\b(?:and|or|not|but|nor|without|except|for)\b", re.IGNORECASE)
_PATH_WORDS = re.compile(r"[\w.-]+")
_EXISTS = re.compile(r"(?:hi |hey |please )*(?:is there|do we have|do i have|have we)\b")


class FileRequest(msgspec.Struct, frozen=True, kw_only=True):
    intent: str
    """`read`, `part`, `lines`, `words`, `size`, `modified`, `checksum`, `difference`, `exists`, `locate`, `mentions` or
    `count mentions` of files that are named; `list`, `count`, `total size`, `search` or `line counts` of any others."""
    names: FileNames
    query: FileQuery
    text: str = ""
    """The text to search for."""
    text_says: str = ""
    """The name whose definition the text finds."""
    is_word: bool = False
    """Whether the text is a whole word."""
    first: int = 0
    """The first line of a part; 0 for a part at the end."""
    amount: int = 0
    """The lines of a part."""
    explained: frozenset[int]


def parse(
    context: RequestContext, referred: frozenset[int] | None = None, *, single: bool = False, by_words: bool = False
) -> FileRequest | None:
    """Read a request about files; None if it is about none.

    `referred` are the places of words such as `the first one` for files of an earlier request, `single` whether they
    mean one file. With `by_words`, words such as `the budget note` may name a file.
    """
    claims = WordClaims(context.request)
    claims.claim_places(referred or ())
    names = find_names(context, claims, by_words=by_words) if not single else FileNames()
    if single or names.files or names.choices:
        return _about_file(context, claims, names)
    return _about_files(context, claims, names, is_anchored=referred is not None)


def _about_file(context: RequestContext, claims: WordClaims, names: FileNames) -> FileRequest | None:
    """A request about a file that is named."""
    request, asks_count = claims.request, claims.asks_count
    made: dict[str, Any] = {}
    claims.claim("file", *(["folder"] if names.folder else []))
    if claims.claim("checksum"):
        intent = "checksum"
    elif len(names.files) == 2 and claims.claim("difference"):
        intent = "difference"
    elif part := _part(claims):
        intent, made = "part", {"first": part[0], "amount": part[1]}
    elif (claims.find("long") or (claims.find("line") and asks_count)) and not _searches(claims, with_=True):
        claims.claim("line", "count", "long")
        intent = "lines"
    elif claims.find("word") and asks_count and not claims.find("search"):
        claims.claim("word", "count")
        intent = "words"
    elif _searches(claims, with_=bool(claims.find("line")) or request.has("in it", "anything", "something")):
        claims.claim("line", "count", "search", "search_with", "search_noun")
        made = _search_text(claims)
        intent = "count mentions" if asks_count else "mentions"
        if not made:
            return None
    elif claims.find("byte", "size"):
        claims.claim("byte", "size", "use", "count", "long")
        intent = "size"
    elif claims.find("where") or (request.has("find") and not claims.find("read")):
        claims.claim("where", "folder", "holds", "name")
        intent = "locate"
    elif request.has("how old") or (claims.find("modified") and (claims.find("date") or request.has("when"))):
        in_spans = {place for one in context.spans for place in one.places}
        claims.claim_places(claims.find("modified") | claims.find("date") - in_spans)
        intent = "modified"
    elif claims.claim("exists") or _EXISTS.match(request.lower):
        intent = "exists"
    elif asks_count or request.has("how much", "who", "when", "why", "whose"):
        return None
    else:
        claims.claim("read", "only")
        claims.claim_places(request.places("say"))
        intent = "read"
    return FileRequest(intent=intent, names=names, query=FileQuery(), explained=claims.explained, **made)


def _part(claims: WordClaims) -> tuple[int, int] | None:
    """Return the first line and the amount of lines of a part of a file; 0 as the first line is the end."""
    line, tokens = claims.find("line"), claims.request.tokens
    numbers = [place for place, one in enumerate(tokens) if one.number is not None and one.lower != "one"]
    named_part = bool(claims.find("part"))
    several = any(tokens[place].lower == "lines" for place in line) and not numbers and not named_part
    for meaning, first in (("first", 1), ("last", 0)):
        found = claims.find(meaning)
        if found and (line or named_part) and len(numbers) <= 1 and not several:
            claims.claim_places((*found, *line, *numbers))
            claims.claim("only")
            return first, abs(int(tokens[numbers[0]].number or 1)) if numbers else 1 if line else 10
    if len(numbers) in (1, 2) and numbers[0] - 1 in line:
        start, end = (int(tokens[place].number or 0) for place in (numbers[0], numbers[-1]))
        between = tuple(one.lower for one in tokens[numbers[0] + 1 : numbers[-1]])
        if end >= start >= 1 and between in ((), ("to",), ("-",), ("until",)):
            claims.claim_places((numbers[0] - 1, *range(numbers[0], numbers[-1] + 1)))
            return start, end - start + 1
    return None


def _searches(claims: WordClaims, *, with_: bool = False) -> bool:
    """Whether the request looks for text in files."""
    return bool(claims.find("search")) or (with_ and bool(claims.find("search_with")) and bool(_candidates(claims)))


def _candidates(claims: WordClaims) -> set[int]:
    """Return the places that are left once the words of a search are accounted for."""
    meanings = ("line", "count", "search", "search_with", "search_noun", "file", "folder", "holds", "word", "read")
    return set(claims.left).difference(*(claims.find(one) for one in meanings))


def _search_text(claims: WordClaims) -> dict[str, Any]:
    """Return the text that is searched for: a quotation, or the words that nothing else explains."""
    quoted = [place for place in claims.left if claims.request.tokens[place].kind == "quoted"]
    if len(quoted) == 1:
        claims.claim_places(quoted)
        return {"text": claims.request.tokens[quoted[0]].text}
    run = claims.left_run
    if run is None:
        return {}
    text = claims.text(*run)
    if _JOINTS.search(text) or len(text) > 200:
        return {}
    plain = bool(claims.request.places("search", "grep", "look"))
    claims.claim_places(range(*run))
    text = singular(text) if re.fullmatch(r"\w+", text) and not plain else text
    return {"text": text, "is_word": re.fullmatch(r"\w+", text) is not None and not plain}


def _about_files(
    context: RequestContext, claims: WordClaims, names: FileNames, *, is_anchored: bool
) -> FileRequest | None:
    """A request about the files of a folder, of a kind, or that fulfil conditions."""
    query = find_query(context, claims, names)
    workspace = claims.claim("workspace")
    noun = claims.find("file")
    folders = frozenset(place for place in claims.find("folder") if claims.request.tokens[place].lower.endswith("s"))
    if folders and not noun and not names.kind:
        claims.claim_places(folders)
        query = msgspec.structs.replace(query, folders=True)
        noun = folders
    request, defined = claims.request, bool(claims.find("defined"))
    whole_folder = bool(names.folder or workspace)
    seeks = request.has("where is", "where's") or claims.find("search_plain")
    if not (noun or names.kind or whole_folder or is_anchored or defined or seeks or query.size_says):
        return None
    query = _with_name(context, claims, query)
    claims.claim(*(["folder"] if whole_folder else []), *(["file"] if noun else []))
    if query.span or query.sort == "time":
        claims.claim("modified", "date", "seek")
    with_ = request.has("in them", "in it", "in any") or bool(claims.find("search_noun"))
    inside = whole_folder and query.is_plain and not noun and request.has("find", "is there")
    made: dict[str, Any] = {}
    intent = "list"
    if not query.name and (
        defined
        or (_searches(claims, with_=with_) and _candidates(claims))
        or (request.has("where") and claims.find("search_noun"))
        or (inside and _candidates(claims))
    ):
        claims.claim("search", "search_with", "search_noun", "where", "holds", "word", "folder")
        claims.claim(*(["defined", "file"] if defined else []))
        intent, made = "search", _search_text(claims)
        if not made:
            return None
        made = _definition(made["text"]) if defined else made
    elif claims.find("line") and (claims.asks_count or claims.find("each")):
        claims.claim("line", "count", "each", "holds")
        intent = "line counts"
    elif claims.find("size") and (claims.find("use") or (whole_folder and not noun and not names.kind)):
        claims.claim("size", "use", "holds")
        intent = "total size"
    elif claims.asks_count and not query.sort:
        claims.claim("count", "holds")
        intent = "count"
    elif request.has("who", "when", "how much") or (query.is_plain and request.has("read", "open")):
        return None
    else:
        claims.claim("holds", "where", "size", "read", "each", "use")
        claims.claim(*(["byte", "count"] if query.sort == "size" else []))
    query = msgspec.structs.replace(query, flat=query.is_plain and intent == "list")
    return FileRequest(intent=intent, names=names, query=query, explained=claims.explained, **made)


def _definition(text: str) -> dict[str, Any]:
    if not re.fullmatch(r"\w+", text):
        return {"text": text}
    return {"text": rf"\b(def|class|function|fn|func)\s+{text}\b", "text_says": text, "is_word": True}


def _with_name(context: RequestContext, claims: WordClaims, query: FileQuery) -> FileQuery:
    """Add the part of the name that files must have."""
    request, tokens, file = claims.request, claims.request.tokens, claims.find("file")
    starts, ends = claims.find("starts"), claims.find("ends")
    named = frozenset(place for place in claims.find("name") if tokens[place].lower not in ("name", "names"))
    if request.has("in their name", "in its name", "in the name", "whose name"):
        named |= claims.find("name")
    if named or ((starts or ends) and not query.suffixes):
        claims.claim_places(file | starts | ends)
        claims.claim("name", "search_with", "word", "holds", "where")
        run = claims.left_run
        text = claims.text(*run) if run else ""
        if not run or not _PATH_WORDS.fullmatch(text):
            return query
        claims.claim_places(range(*run))
        if run[1] < len(tokens) and tokens[run[1]].text == "_" and tokens[run[1]].start == tokens[run[1] - 1].end:
            text += "_"
        if starts or ends:
            pattern, how = (f"{text}*", "starting with") if starts else (f"*{text}", "ending in")
            return msgspec.structs.replace(query, name=pattern, name_says=f" {how} {text}")
        return _containing(query, text)
    if query.suffixes:
        claims.claim("ends")
    names = [path.rpartition("/")[2].lower() for path in context.conversation.files]
    known = {singular(part) for one in names for part in name_words(one)}
    for place in (one - 1 for one in file if one and tokens[one].lower.endswith("s")):
        word = tokens[place]
        if word.kind == "word" and not word.is_stop and place not in claims.places and singular(word.lower) in known:
            claims.claim_places((place,))
            return _containing(query, singular(word.lower))
    if not file and request.has("where is", "where's") and not query.folder and not claims.find("search_noun"):
        claims.claim("where")
        left = claims.left
        text = tokens[left[0]].text if len(left) == 1 and tokens[left[0]].kind == "word" else ""
        if text and any(text.lower() in one for one in names) and not claims.find("defined"):
            claims.claim_places(left)
            return _containing(query, text)
    return query


def _containing(query: FileQuery, text: str) -> FileQuery:
    return msgspec.structs.replace(query, name=f"*{text}*", name_says=f" with {text} in their name")
