"""Keeps secrets out of everything that is written down, sent on or shown to a model."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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
    rf"((?:{_NAMES})[\w-]{{0,40}}+\\*+[\"']?\s*+[=:]\s*+)(?!\[redacted\])"
    r"(?:(?P<quote>\\*+[\"'])(?:(?!(?P=quote))(?:\\++.|[^\\]))*+(?P=quote)?|[^\s,;&\"']++)",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_CUT = re.compile("…")
_SHORTEST_SHAPE = 10
_LONGEST_KEY = 200
_SHORTEST = 4
"""Hiding a shorter secret wherever its letters occur would hide ordinary words, and protect little."""


def text(value: str, known: Sequence[str] = ()) -> str:
    """A text with everything hidden that looks like a secret, or is one of those known."""
    if known:
        value = without(value, known)
    value = _SECRET_VALUE.sub(HIDDEN, value)
    if ":" in value:
        value = _AFTER_COLON.sub(HIDDEN, value)
    elif "=" not in value:
        return value
    return _ASSIGNED.sub(rf"\g<1>{HIDDEN}", value)


def params(given: Mapping[str, Any], secret: Collection[str] = (), *, largest: int = 2_000) -> dict[str, Any]:
    """Parameters as they may be recorded: secrets hidden, long values reduced to size and hash."""
    return _params(given, secret, secrets(given, secret), largest)


def secrets(given: Mapping[str, Any], secret: Collection[str] = ()) -> list[str]:
    """The secrets among parameters, in every spelling a sentence may quote them in; longest first."""
    if is_plain(given, secret):
        return []
    values = list(_secret_values(given, secret))
    if not values:
        return []
    found: set[str] = set()
    for value in values:
        whole = str(value)
        quoted = repr(whole)[1:-1]
        found.update((whole, quoted, json.dumps(whole)[1:-1], json.dumps(whole, ensure_ascii=False)[1:-1]))
    return sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True)


def is_plain(given: Mapping[str, Any], secret: Collection[str] = ()) -> bool:
    """Whether parameters are only values, and none of them named like a secret: most are."""
    for key, value in given.items():  # noqa: SIM110 - a generator would cost more than all else here
        if key in secret or type(value) not in _PLAIN or names_a_secret(key):
            return False
    return True


def without(value: str, known: Sequence[str]) -> str:
    """A text without these secrets, and without their beginnings where a sentence was shortened."""
    for secret in known:
        value = value.replace(secret, HIDDEN)
        for end in [match.start() for match in _CUT.finditer(value)][::-1]:
            length = next((n for n in range(min(len(secret), end), 0, -1) if value.endswith(secret[:n], 0, end)), 0)
            if length >= _SHORTEST:
                value = value[: end - length] + HIDDEN + value[end:]
    return value


def _params(given: Mapping[str, Any], secret: Collection[str], known: Sequence[str], largest: int) -> dict[str, Any]:
    shown = {
        _key(key, known): HIDDEN if key in secret or names_a_secret(key) else _value(value, known, largest)
        for key, value in islice(given.items(), largest)
    }
    if len(given) > largest:
        shown["…"] = f"[{len(given) - largest} more]"
    return shown


def _secret_values(given: Mapping[str, Any], secret: Collection[str]) -> Iterator[str | int | float]:
    for key, value in given.items():
        if key in secret or names_a_secret(key):
            yield from _leaves(value)
        elif isinstance(value, dict):
            yield from _secret_values(value, ())
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from _secret_values(item, ())


def _leaves(value: Any) -> Iterator[str | int | float]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def names_a_secret(key: str) -> bool:
    """Whether what stands under this name is hidden whatever it is."""
    return _is_telling(key) if len(key) <= 64 else _SECRET_KEY.search(key, 0, _LONGEST_KEY) is not None


@functools.lru_cache(4_096)
def _is_telling(key: str) -> bool:
    """For the few names that parameters have, asked for in every call."""
    return _SECRET_KEY.search(key) is not None


def _key(key: str, known: Sequence[str]) -> str:
    if len(key) < _SHORTEST_SHAPE and not known:
        return key
    if len(key) <= _LONGEST_KEY:
        return text(key, known)
    return f"{text(key[:_LONGEST_KEY], known)}… ({len(key)} characters)"


def _value(value: Any, known: Sequence[str], largest: int) -> Any:
    if value is None or type(value) is int or type(value) is bool:
        return value
    if isinstance(value, str):
        if len(value) > largest:
            digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
            return f"[{len(value)} characters, sha256 {digest[:16]}]"
        return text(value, known)
    if isinstance(value, Mapping):
        return _params(value, (), known, largest)
    if isinstance(value, list | tuple):
        if len(value) > largest:
            return f"[{len(value)} items]"
        return _listed(value, known, largest)
    return value


def _listed(values: Sequence[Any], known: Sequence[str], largest: int) -> list[Any]:
    """Item by item; a word behind one such as `--token` is its value, and hidden."""
    shown = []
    expected = False
    for item in values:
        word = item if isinstance(item, str) else ""
        shown.append(HIDDEN if expected and word and not word.startswith("-") else _value(item, known, largest))
        expected = word.startswith("--") and "=" not in word and names_a_secret(word)
    return shown
