"""Finds text in a tool's definition that may be meant to mislead a model or a person (prompt injection).

These are warnings, not verdicts: a warning forbids nothing, and a text without warnings may still lie. They are shown
wherever a person decides about a tool.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.tool_definitions import ToolDefinition

_LONG = 4_000
"""Length from which a description gets a warning, because its length alone can hide something."""
_SHORT = 100
_MOST = 12
_MOST_TEXTS = 5_000
_DEEPEST = 40
_QUOTED = 60

_VARIATION = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff#*0-9]\ufe0f|[\U0001f000-\U0001faff\u2600-\u27bf]\u200d"
)
"""Emoji that legitimately contain a variation selector or a joiner."""

_PATTERNS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "tells the reader to ignore other instructions",
        ("ignore", "disregard", "forget", "overrid", "supersede"),
        (
            r"\b(?:ignore|disregard|forget|override|supersedes?)\b",
            r"\b(?:previous|prior|earlier|above|other|system|your|any)\b",
            r"\b(?:instructions?|prompts?|rules|directions?|guidelines?|polic(?:y|ies))\b",
        ),
    ),
    (
        "asks to keep something from people",
        ("user", "human", "person", "people", "operator", "any"),
        (
            r"\b(?:do not|don't|never|without|must not|avoid|refrain from)\b",
            r"\b(?:tell|inform|mention|notify|reveal|alert|disclose|warn|ask)(?:ing)?\b"
            r"|\b(?:telling|informing|notifying|disclosing)\b",
            r"\b(?:users?|humans?|persons?|people|operators?|anyone|anybody)\b",
        ),
    ),
    (
        "contains markup that imitates instructions to a model",
        ("<", "["),
        (
            r"<\s*/?\s*(?:important|system|secret|instructions?|admin|hidden|assistant|critical)\s*>"
            r"|\[/?(?:inst|system)\]|<\|[a-z_]{2,20}\|>",
        ),
    ),
    (
        "names a place where keys and secrets are stored",
        (
            "~/",
            "$home",
            "/home/",
            "/root",
            "/etc/",
            "id_",
            "mcp.json",
            ".ssh",
            ".aws",
            ".gnupg",
            ".netrc",
            ".kube",
            ".env",
        ),
        (
            r"(?:~|\$home|/home/[^\s/]{1,40}|/root)/\.[a-z]|/etc/(?:passwd|shadow)\b|\bid_(?:rsa|ed25519)\b"
            r"|\bmcp\.json\b|\.(?:ssh|aws|gnupg|netrc|kube)\b|(?<!\w)\.env\b",
        ),
    ),
    (
        "asks for secrets or for the conversation",
        (
            "key",
            "password",
            "credential",
            "secret",
            "token",
            "environment",
            "prompt",
            "history",
            "previous",
            "conversation",
        ),
        (
            r"\b(?:read|load|fetch|open|cat|collect|include|send|pass|provide|copy|paste|extract|give|exfiltrate)\b",
            r"\b(?:ssh keys?|private keys?|api[ _-]?keys?|passwords?|credentials?|secrets|access tokens?"
            r"|environment variables|system prompt|(?:conversation|chat) history|previous messages"
            r"|(?:whole|entire|full) conversation)\b",
        ),
    ),
    (
        "gives instructions about other tools",
        ("tool", "before"),
        (
            r"\b(?:before|whenever|every time|each time|always|first|instead of|must|prior to)\b",
            r"\b(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing))\b",
            r"\b(?:any|another|other|every|all|each)\b.{0,20}\btools?\b|\bthis tool (?:first|before)\b"
            r"|\bbefore (?:using|calling|running) (?:this|any)\b",
        ),
    ),
    (
        "asks for data in a parameter secretly or under a threat",
        ("parameter", "argument", "field"),
        (
            r"\b(?:pass|put|place|send|include|encode|write|append|store)\b",
            r"\b(?:parameter|argument|field)\b",
            r"\b(?:secretly|hidden|silently|quietly|otherwise|or else|will not work|won't work|will fail)\b",
        ),
    ),
    ("gives the reader another role", ("you",), (r"\byou are now\b|\bfrom now on,? you\b|\byou must act as\b",)),
    (
        "asks to send something to an address",
        ("http", "@"),
        (r"\b(?:send|forward|upload|post|e-?mail|bcc)\b", r"\bhttps?://|\b\w[\w.+-]{0,60}@\w"),
    ),
)
"""Warnings, each with word stems and patterns: a warning applies when every pattern of its row matches in one sentence.
Each pattern is searched on its own, which takes time proportional to the text, whatever a server writes. The stems are
a quick pre-check: without any of them, the patterns are not searched."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*<])")
_LONGEST_SENTENCE = 400
_MOST_READ = 20_000
_BLOB = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{120,}={0,2}(?![A-Za-z0-9+/_-])")
_SECRET_PARAMETER = re.compile(
    r"pass(?:word|wd|phrase)|secret|private[_-]?key|api[_-]?key|credential|auth[_-]?token|access[_-]?token"
    r"|ssh|conversation|chat[_-]?history|system[_-]?prompt|side[_-]?note|reasoning|chain[_-]?of[_-]?thought",
    re.IGNORECASE,
)
_WORDS = frozenset(("description", "title", "$comment"))
_VALUES = frozenset(("enum", "const", "default", "examples"))


def find_warnings(definition: ToolDefinition) -> tuple[str, ...]:
    """Clauses that say where and what; at most a dozen, then the number of further ones."""
    found: dict[str, None] = {}
    for place, text in _iterate_texts(definition):
        for what in _check_text(text):
            found.setdefault(f"{place} {what}")
    for place, name in _iterate_parameters(definition.input_schema, "parameter", 0):
        if _SECRET_PARAMETER.search(name):
            found.setdefault(f"{place} has a name that asks for something confidential")
    every = tuple(found)
    if len(every) <= _MOST:
        return every
    return (*every[:_MOST], f"{len(every) - _MOST} more warnings not shown")


def _check_text(text: str) -> Iterator[str]:
    if len(text) < _SHORT and text.isascii() and text.replace("_", "").isalnum():
        return
    if not text.isascii():
        yield from _find_invisible(text)
    elif "\x1b" in text or not text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        yield f"contains control characters ({_excerpt(text)})"
    if len(text) > _LONG:
        yield f"is {len(text)} characters long"
    lowered = _lower(text[:_MOST_READ])
    for words, stems, parts in _compile_patterns():
        if any(stem in lowered for stem in stems) and all(part.search(lowered) for part in parts):
            found = (one for one in _split_sentences(lowered) if all(part.search(one) for part in parts))
            if (sentence := next(found, None)) is not None:
                at = lowered.index(sentence)
                yield f"{words} ({_quote(text[at : at + len(sentence)])})"
    if (match := _BLOB.search(text)) is not None and len(set(match[0])) > 16:
        yield f"contains {len(match[0])} characters that may be encoded text"


def _lower(text: str) -> str:
    """Lower-case text of the same length, so that positions match the original."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := one.lower()) == 1 else one for one in text)


@functools.cache
def _compile_patterns() -> list[tuple[str, tuple[str, ...], list[re.Pattern[str]]]]:
    """Compile the patterns on first use, because that is too slow for every start."""
    return [(words, stems, [re.compile(part) for part in parts]) for words, stems, parts in _PATTERNS]


def _split_sentences(text: str) -> Iterator[str]:
    """Split a text into sentences of limited, overlapping length."""
    for sentence in _SENTENCE_ENDS.split(text):
        for at in range(0, len(sentence), _LONGEST_SENTENCE // 2):
            yield sentence[at : at + _LONGEST_SENTENCE]
            if at + _LONGEST_SENTENCE >= len(sentence):
                break


def _find_invisible(text: str) -> Iterator[str]:
    plain = _EMOJI.sub("", text).replace("\r", "").replace("\u00a0", " ").replace("\u202f", " ")
    if escape_invisible(plain) != plain:
        yield f"contains invisible characters ({_excerpt(plain)})"
    elif _VARIATION.search(plain):
        yield "contains variation selectors, which can hide a message"


def _excerpt(text: str) -> str:
    """The first invisible character, escaped, with some context."""
    shown = escape_invisible(text)
    at = next((n for n, (a, b) in enumerate(zip(text, shown, strict=False)) if a != b), 0)
    return _quote(shown[max(0, at - 15) : at + 45])


def _quote(text: str) -> str:
    line = " ".join(escape_invisible(text, lines=False).replace("\\n", " ").split())
    return f"“{line if len(line) <= _QUOTED else line[:_QUOTED] + '…'}”"


def _iterate_texts(definition: ToolDefinition) -> Iterator[tuple[str, str]]:
    """Yield every text of a definition that a model may read, with its place."""
    yield "its name", definition.name
    yield "its title", definition.title
    yield "its description", definition.description
    annotations = definition.annotations or {}
    if isinstance(annotations.get("title"), str):
        yield "the title in its annotations", annotations["title"]
    left = _MOST_TEXTS
    for schema, where in ((definition.input_schema, "parameter"), (definition.output_schema, "result")):
        for found in _iterate_schema(schema, where, 0):
            yield found
            left -= 1
            if not left:
                yield "its schema", " " * (_LONG + 1)
                return


def _iterate_schema(node: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        return
    if isinstance(node, list):
        for item in node:
            yield from _iterate_schema(item, place, depth + 1)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key in _WORDS and isinstance(value, str):
            yield f"the {key.strip('$')} of {place}", value
        elif key in _VALUES:
            for text in _iterate_leaves(value, depth):
                yield f"a value of {place}", text
        elif key in ("properties", "patternProperties", "$defs", "definitions") and isinstance(value, dict):
            for name, spec in value.items():
                inner = f"{place} {escape_invisible(str(name), lines=False)[:60]}"
                yield inner, str(name)
                yield from _iterate_schema(spec, inner, depth + 1)
        else:
            yield from _iterate_schema(value, place, depth + 1)


def _iterate_leaves(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth <= _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iterate_leaves(item, depth + 1)


def _iterate_parameters(schema: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or depth > _DEEPEST:
        return
    for name, spec in properties.items():
        where = f"{place} {escape_invisible(str(name), lines=False)[:60]}"
        yield where, str(name)
        yield from _iterate_parameters(spec, where, depth + 1)
