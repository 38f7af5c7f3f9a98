"""What a request asks about files: which files it means, and what it wants to know of them."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from doorward.agents.house.file_names import FileNames, find_names, known_words
from doorward.agents.house.file_query import FileQuery, find_query
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.word_claims import WordClaims
from doorward.agents.house.words import name_words, singular

Intent = Literal[
    "read",
    "part",
    "lines",
    "words",
    "size",
    "modified",
    "history",
    "checksum",
    "difference",
    "exists",
    "locate",
    "mentions",
    "count mentions",
    "list",
    "count",
    "total size",
    "search",
    "line counts",
]
_JOINTS = re.compile(r"\b(?:and|or|not|but|nor|without|except|for)\b", re.IGNORECASE)
_PATH_WORDS = re.compile(r"[\w.-]+")


class FileRequest(msgspec.Struct, frozen=True, kw_only=True):
    intent: Intent
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
    claims = WordClaims(context.request, known_words(context))
    claims.claim_places(referred or ())
    names = find_names(context, claims, by_words=by_words) if not single else FileNames()
    if single or names.files or names.choices:
        return _about_file(context, claims, names)
    return _about_files(context, claims, names, is_anchored=referred is not None)


def _about_file(context: RequestContext, claims: WordClaims, names: FileNames) -> FileRequest | None:
    """A request about a file that is named."""
    asks_count = claims.request.has("how many", "how often", "number", "count")
    made: dict[str, object] = {}
    intent: Intent
    spans = frozenset(place for one in context.spans for place in one.places)
    claims.claim("file")
    if names.folder:
        claims.claim("folder")
    if claims.claim("checksum"):
        intent = "checksum"
    elif len(names.files) == 2 and claims.claim("difference"):
        intent = "difference"
    elif (part := _part(claims)) is not None:
        intent, made = "part", {"first": part[0], "amount": part[1]}
    elif (claims.find("long") or (claims.find("line") and asks_count)) and not _searches(claims, with_=True):
        claims.claim("line", "count", "long")
        intent = "lines"
    elif claims.find("word") and asks_count and not claims.find("search"):
        claims.claim("word", "count")
        intent = "words"
    elif _searches(claims, with_=bool(claims.find("line")) or claims.request.has("in it", "anything", "something")):
        claims.claim("line", "count", "search", "search_with", "search_noun")
        made = _search_text(claims)
        intent = "count mentions" if asks_count else "mentions"
        if not made:
            return None
    elif claims.find("byte") or claims.find("size"):
        claims.claim("byte", "size", "use", "count", "long")
        intent = "size"
    elif claims.request.has("where", "which folder", "what folder", "which directory", "can't find", "locate") or (
        claims.request.has("find") and not claims.find("read")
    ):
        claims.claim("where", "folder", "holds", "name")
        intent = "locate"
    elif claims.find("history") or (claims.request.has("who") and claims.find("modified")):
        claims.claim("history", "modified", "date")
        intent = "history"
    elif claims.request.has("how old") or (
        claims.find("modified") and (claims.find("date") or claims.request.has("when"))
    ):
        claims.claim_places(claims.find("modified") | claims.find("date") - spans)
        intent = "modified"
    elif claims.find("exists") or _asks_existence(claims):
        claims.claim("exists")
        intent = "exists"
    elif asks_count or claims.request.has("how much", "who", "when", "why", "whose"):
        return None
    else:
        claims.claim("read", "only")
        if claims.request.has("say", "says"):
            claims.claim_places(claims.request.places("say"))
        intent = "read"
    return FileRequest(intent=intent, names=names, query=FileQuery(), explained=claims.explained, **made)  # type: ignore[arg-type]


def _asks_existence(claims: WordClaims) -> bool:
    return (
        re.match(r"(?:hi |hey |please )*(?:is there|do we have|do i have|have we)\b", claims.request.lower) is not None
    )


def _part(claims: WordClaims) -> tuple[int, int] | None:
    """Return the first line and the amount of lines of a part of a file; 0 as the first line is the end."""
    line = claims.find("line")
    tokens = claims.request.tokens
    for meaning, first in (("first", 1), ("last", 0)):
        found = claims.find(meaning)
        numbers = [place for place, one in enumerate(tokens) if one.number is not None and one.lower != "one"]
        if found and (line or claims.find("part")) and len(numbers) <= 1:
            several = any(tokens[place].lower == "lines" for place in line)
            if several and not numbers and not claims.find("part"):
                continue
            claims.claim_places((*found, *line, *numbers))
            claims.claim("first" if first else "last", "only")
            return first, abs(int(tokens[numbers[0]].number or 1)) if numbers else 10 if not line else 1
    before = [place for place in line if place + 1 < len(tokens) and tokens[place + 1].kind == "number"]
    if before:
        at = before[0] + 1
        start = int(tokens[at].number or 1)
        ends = at + 2 < len(tokens) and tokens[at + 1].lower in ("to", "-", "until") and tokens[at + 2].kind == "number"
        end = int(tokens[at + 2].number or start) if ends else start
        if end >= start >= 1:
            claims.claim_places((before[0], at, *((at + 1, at + 2) if ends else ())))
            return start, end - start + 1
    return None


def _searches(claims: WordClaims, *, with_: bool = False) -> bool:
    """Whether the request looks for text in files."""
    return bool(claims.find("search")) or (with_ and bool(claims.find("search_with")) and bool(_candidates(claims)))


def _candidates(claims: WordClaims) -> list[int]:
    """Return the places that are left once the words of a search are accounted for."""
    functional: set[int] = set()
    for meaning in ("line", "count", "search", "search_with", "search_noun", "file", "folder", "holds", "word", "read"):
        functional |= claims.find(meaning)
    return [place for place in claims.left if place not in functional]


def _search_text(claims: WordClaims) -> dict[str, object]:
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
    defined = claims.find("defined")
    whole_folder = bool(names.folder or workspace)
    seeks = claims.request.has("where is", "where's") or claims.find("search_plain")
    if not (noun or names.kind or whole_folder or is_anchored or defined or seeks or query.size_says):
        return None
    query = _with_name(context, claims, query)
    if whole_folder:
        claims.claim("folder")
    if noun:
        claims.claim("file")
    if query.span or query.sort == "time":
        claims.claim("modified", "date", "seek")
    in_them = claims.request.has("in them", "in it", "in any")
    made: dict[str, object] = {}
    intent: Intent = "list"
    asks_count = claims.request.has("how many", "number", "count")
    if defined and not query.name:
        claims.claim("defined", "where", "folder", "file", "search_with")
        made = _search_text(claims)
        made = _definition(str(made["text"])) if made else {}
        intent = "search"
    elif (
        not query.name and _searches(claims, with_=in_them or bool(claims.find("search_noun"))) and _candidates(claims)
    ):
        claims.claim("search", "search_with", "search_noun", "where", "holds", "word", "folder")
        made = _search_text(claims)
        intent = "search"
    elif not query.name and claims.request.has("where") and claims.find("search_noun"):
        claims.claim("search_noun", "where", "folder")
        made = _search_text(claims)
        intent = "search"
    elif (
        whole_folder and query.is_plain and not noun and claims.request.has("find", "is there") and _candidates(claims)
    ):
        claims.claim("search_noun", "folder", "holds")
        made = _search_text(claims)
        intent = "search"
    elif claims.find("line") and (asks_count or claims.find("each")):
        claims.claim("line", "count", "each", "holds")
        intent = "line counts"
    elif claims.find("size") and (claims.find("use") or (whole_folder and not noun and not names.kind)):
        claims.claim("size", "use", "holds")
        intent = "total size"
    elif asks_count and not query.sort:
        claims.claim("count", "holds")
        intent = "count"
    elif claims.request.has("who", "when", "how much"):
        return None
    else:
        claims.claim("holds", "where", "size", "read", "each", "use")
        if query.sort == "size":
            claims.claim("use", "byte", "count")
    if intent == "search" and not made:
        return None
    query = msgspec.structs.replace(query, flat=query.is_plain and intent == "list")
    return FileRequest(intent=intent, names=names, query=query, explained=claims.explained, **made)  # type: ignore[arg-type]


def _definition(text: str) -> dict[str, object]:
    if not re.fullmatch(r"\w+", text):
        return {"text": text}
    return {"text": rf"\b(def|class|function|fn|func)\s+{text}\b", "text_says": text, "is_word": True}


def _with_name(context: RequestContext, claims: WordClaims, query: FileQuery) -> FileQuery:
    """Add the part of the name that files must have."""
    tokens = claims.request.tokens
    file = claims.find("file")
    starts, ends = claims.find("starts"), claims.find("ends")
    named = frozenset(place for place in claims.find("name") if tokens[place].lower not in ("name", "names")) or (
        claims.find("name")
        if claims.request.has("in their name", "in its name", "in the name", "whose name")
        else frozenset()
    )
    if named or ((starts or ends) and not query.suffixes):
        claims.claim_places(file | starts | ends)
        claims.claim("name", "search_with", "word", "holds", "where")
        run = claims.left_run
        text = claims.text(*run) if run else ""
        if run and _PATH_WORDS.fullmatch(text):
            claims.claim_places(range(*run))
            behind = (
                tokens[run[1]].text if run[1] < len(tokens) and tokens[run[1]].start == tokens[run[1] - 1].end else ""
            )
            text += behind if behind == "_" else ""
            pattern = f"{text}*" if starts else f"*{text}" if ends else f"*{text}*"
            how = "starting with" if starts else "ending in" if ends else "with"
            where = "" if starts or ends else " in their name"
            return msgspec.structs.replace(query, name=pattern, name_says=f" {how} {text}{where}")
        return query
    if query.suffixes and (ends or claims.find("ends")):
        claims.claim("ends")
    for place in (one for one in file if tokens[one].lower.endswith("s")):
        word = tokens[place - 1] if place else None
        if word is None or word.kind != "word" or place - 1 in claims.places or word.is_stop:
            continue
        known = {singular(part) for path in context.conversation.files for part in name_words(path.rpartition("/")[2])}
        if singular(word.lower) in known:
            claims.claim_places((place - 1,))
            name = singular(word.lower)
            return msgspec.structs.replace(query, name=f"*{name}*", name_says=f" with {name} in their name")
    if not file and claims.request.has("where is", "where's") and not query.folder and not claims.find("search_noun"):
        claims.claim("where")
        run = claims.left_run
        if run and run[1] == run[0] + 1 and tokens[run[0]].kind == "word":
            text = tokens[run[0]].text
            known_names = [path.rpartition("/")[2].lower() for path in context.conversation.files]
            if any(text.lower() in one for one in known_names) and not claims.find("defined"):
                claims.claim_places(range(*run))
                return msgspec.structs.replace(query, name=f"*{text}*", name_says=f" with {text} in their name")
    return query
