"""Keeps secrets out of everything that is written down, sent on or shown to a model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

HIDDEN = "[redacted]"

_NAMES = (
    r"pass(?:word|wd|phrase|code)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie"
    r"|credential"
)
_SECRET_KEY = re.compile(_NAMES, re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\beyJ(?<![\w-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"  # JSON web tokens
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"  # keys of model and payment services
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_AFTER_COLON = re.compile(
    r"(?<=[Aa]uthorization: )[A-Za-z]+\s+\S+|(?<=[Cc]ookie: )[^\r\n\"']+"
    r"|(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"  # user:password in an address
)
_ASSIGNED = re.compile(
    rf"((?:{_NAMES})[\w-]{{0,40}}+\\?[\"']?\s*+[=:]\s*+)(?!\[redacted\])"
    r"(?:\\\"(?:[^\"\\]|\\[^\"])*+(?:\\\")?|\"(?:[^\"\\]|\\.)*+\"?|'(?:[^'\\]|\\.)*+'?|[^\s,;&\"']++)",
    re.IGNORECASE | re.DOTALL,
)
_SHORTEST_SHAPE = 10
_LONGEST_KEY = 200
_SHORTEST = 4
"""Hiding a shorter secret wherever its letters occur would hide ordinary words, and protect little."""


def text(value: str, known: Iterable[str] = ()) -> str:
    """A text with everything hidden that looks like a secret, or is one of those known."""
    for secret in known:
        value = value.replace(secret, HIDDEN)
    value = _SECRET_VALUE.sub(HIDDEN, value)
    if ":" in value:
        value = _AFTER_COLON.sub(HIDDEN, value)
    elif "=" not in value:
        return value
    return _ASSIGNED.sub(rf"\g<1>{HIDDEN}", value)


def params(given: Mapping[str, Any], secret: Collection[str] = (), *, largest: int = 2_000) -> dict[str, Any]:
    """Parameters as they may be recorded: secrets hidden, long values reduced to size and hash."""
    shown = {
        _key(key): HIDDEN if key in secret or _names_a_secret(key) else _value(value, largest)
        for key, value in islice(given.items(), largest)
    }
    if len(given) > largest:
        shown["…"] = f"[{len(given) - largest} more]"
    return shown


def secrets(given: Mapping[str, Any], secret: Collection[str] = ()) -> list[str]:
    """The secrets among parameters, in every spelling a sentence may quote them in; longest first."""
    found: set[str] = set()
    for value in _secret_values(given, secret):
        whole = str(value)
        quoted = repr(whole)[1:-1]
        found.update((whole, quoted, quoted[:79], json.dumps(whole)[1:-1], json.dumps(whole, ensure_ascii=False)[1:-1]))
    return sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True)


def _secret_values(given: Any, secret: Collection[str], hidden: bool = False) -> Iterator[str | int | float]:
    if isinstance(given, Mapping):
        for key, value in given.items():
            yield from _secret_values(value, (), hidden or key in secret or _names_a_secret(key))
    elif isinstance(given, list | tuple):
        for value in given:
            yield from _secret_values(value, (), hidden)
    elif hidden and isinstance(given, str | int | float) and not isinstance(given, bool):
        yield given


def _names_a_secret(key: str) -> bool:
    return _SECRET_KEY.search(key, 0, _LONGEST_KEY) is not None


def _key(key: str) -> str:
    if len(key) < _SHORTEST_SHAPE:
        return key
    return text(key) if len(key) <= _LONGEST_KEY else f"{text(key[:_LONGEST_KEY])}… ({len(key)} characters)"


def _value(value: Any, largest: int) -> Any:
    if isinstance(value, str):
        if len(value) > largest:
            digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
            return f"[{len(value)} characters, sha256 {digest[:16]}]"
        return text(value)
    if isinstance(value, Mapping):
        return params(value, largest=largest)
    if isinstance(value, list | tuple):
        if len(value) > largest:
            return f"[{len(value)} items]"
        return [_value(item, largest) for item in value]
    return value
