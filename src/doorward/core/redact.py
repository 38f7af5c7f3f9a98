"""Redacts secrets from everything that is recorded, logged, sent on or shown to a model."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

HIDDEN = "[redacted]"

_NAMES = (
    r"pass(?:word|wd|phrase|code)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie"
    r"|credential"
)
_SECRET_KEY = re.compile(_NAMES, re.IGNORECASE)
_TELLING = re.compile(
    r"(?:^|[_-])(?:key|pat|auth|pwd|pass|dsn|signature|connection[_-]?string)(?:$|[_-])", re.IGNORECASE
)
"""More names of variables, headers, options and URL parts that hold secrets. Not applied to parameters, where a word
such as `key` has other meanings."""
_OPTION = re.compile(r"(--?[A-Za-z][\w-]{0,63}=)(.+)", re.DOTALL)
_QUERY = re.compile(r"([?&]([\w.~%+-]{1,64})=)([^\s&#\"'<>]+)")
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
_NAMED = re.compile(
    r"\b(?P<pass>pass ?(?:word|phrase|code)|passwd|pwd)\b|\b(?:secret|token|(?:api|access|private) key)\b",
    re.IGNORECASE,
)
_VALUE = r"[ \t]{1,4}[\"'`“‘]?(?P<value>[^\s\"'`”’]{4,200})"
_IS = re.compile(
    r"(?:[ \t]{1,4}(?:for|of|to|on|at)(?:[ \t]{1,4}[\w.@/-]{1,40}){1,3}?)??"
    rf"[ \t]{{1,4}}(?:is|was|to|as|will be|should be):?{_VALUE}",
    re.IGNORECASE,
)
_BESIDE = re.compile(_VALUE)
_MIXED = re.compile(r"(?=\D*\d)(?=[\W\d_]*[^\W\d_])")
_FILE = re.compile(r"[/*]|\.[A-Za-z]\w{0,4}$")
_NO_PASSWORD = re.compile(
    r"wrong|correct|right|invalid|incorrect|expired|required|missing|empty|blank|unset|stored|hidden|weak"
    r"|strong|what|that|this|never|always|used|needed|asked|given|only|also|still|unknown|changed|hashed"
    r"|encrypted|kept|safe|there|here|same|different|longer|shorter|short|long|being|known|about|above"
    r"|again|already|because|before|below|both|case|checked|compared|correctly|created|deleted|easy|enough"
    r"|entered|exactly|handled|just|like|lost|mandatory|more|mine|optional|over|please|printed|protected"
    r"|public|reset|secret|secure|sent|shared|shown|supposed|then|updated|very|visible|written|yours",
    re.IGNORECASE,
)
"""Words that follow "password is" but are not a password."""
_PLAIN = frozenset({str, int, float, bool, type(None)})
_CUT = "…"
_REDUCED = re.compile(r"\[\d+ characters, sha256 [0-9a-f]{16}\]|\[\d+ items\]|.*… \(\d+ characters\)", re.DOTALL)
"""The recorded form of a string, list or key that is too long."""
_SHORTEST_SHAPE = 10
_LONGEST_KEY = 200
_SHORTEST = 4
"""Shorter secrets are not searched for: that would redact ordinary words."""


def text(value: str, known: Sequence[str] = ()) -> str:
    """Redact everything that looks like a secret, and the known secrets."""
    if known:
        value = remove(value, known)
    value = _SECRET_VALUE.sub(HIDDEN, value)
    if ":" in value:
        value = _AFTER_COLON.sub(HIDDEN, value)
    elif "=" not in value:
        return value
    if "?" in value:
        value = _QUERY.sub(_query_hidden, value)
    return _ASSIGNED.sub(rf"\g<1>{HIDDEN}", value)


def speech(value: str) -> str:
    """Redact a text that a person wrote, including "my password is …" in plain words."""
    value = text(value)
    shown, done = [], 0
    for name in _NAMED.finditer(value):
        at, password = name.end(), name["pass"] is not None
        found = _IS.match(value, at) or (_BESIDE.match(value, at) if password else None)
        while found is not None and found.start("value") >= done:
            word = found["value"].rstrip(".,;:!?)")
            if _is_told(word, is_said=found.re is _IS, password=password):
                shown += [value[done : found.start("value")], HIDDEN]
                done = found.start("value") + len(word)
            found = _IS.match(value, found.end())
    return "".join([*shown, value[done:]]) if shown else value


def _is_told(word: str, *, is_said: bool, password: bool) -> bool:
    """Whether the word after a secret's name looks like one: letters with digits or, after "password is", any word."""
    if len(word) < _SHORTEST or word == HIDDEN:
        return False
    if _MIXED.match(word):
        return is_said or _FILE.search(word) is None
    return is_said and password and _NO_PASSWORD.fullmatch(word) is None


def params(
    given: Mapping[str, Any], secret: Collection[str] = (), known: Collection[str] = (), *, largest: int = 2_000
) -> dict[str, Any]:
    """Redact parameters for a record: secrets hidden, long values replaced by a hash."""
    return _params(given, secret, collect_secrets(given, secret, known), largest)


def find_redacted(given: Any, recorded: Any) -> Iterator[str]:
    """The strings that were changed when the values were recorded, and so may hold a secret."""
    if isinstance(given, str):
        if given != recorded:
            yield given
    elif isinstance(given, Mapping):
        for key, value in given.items():
            yield from find_redacted(value, recorded.get(key) if isinstance(recorded, Mapping) else None)
    elif isinstance(given, list):
        same = isinstance(recorded, list) and len(recorded) == len(given)
        for at, value in enumerate(given):
            yield from find_redacted(value, recorded[at] if same else None)


def is_whole(value: Any) -> bool:
    """Whether a value was recorded unchanged: nothing in it was hidden or cut."""
    if isinstance(value, str):
        return HIDDEN not in value and _REDUCED.fullmatch(value) is None
    if isinstance(value, Mapping):
        return all(key != _CUT and is_whole(key) and is_whole(one) for key, one in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_whole, value))
    return True


def collect_secrets(given: Mapping[str, Any], secret: Collection[str] = (), known: Collection[str] = ()) -> list[str]:
    """The secrets in the parameters and the known ones, in every escaped form, longest first."""
    if not known and is_plain(given, secret):
        return []
    values = [*_secret_values(given, secret), *known]
    if not values:
        return []
    found: set[str] = set()
    for value in values:
        whole = str(value)
        quoted = repr(whole)[1:-1]
        found.update((whole, quoted, json.dumps(whole)[1:-1], json.dumps(whole, ensure_ascii=False)[1:-1]))
    return sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True)


def is_plain(given: Mapping[str, Any], secret: Collection[str] = ()) -> bool:
    """Whether all parameters are scalars without a secret name, as most are."""
    for key, value in given.items():  # noqa: SIM110 - a generator would cost more than all else here
        if key in secret or type(value) not in _PLAIN or is_secret_param(key):
            return False
    return True


def remove(value: str, known: Sequence[str]) -> str:
    """Remove these secrets from a text, also where they were cut by a `…`."""
    for secret in known:
        value = value.replace(secret, HIDDEN)
        if _CUT in value:
            value = _without_beginnings(value, secret)
    return value


def _without_beginnings(value: str, secret: str) -> str:
    """Hide the longest prefix of a secret before each `…`.

    The text may be hostile, so it is read once, by Knuth-Morris-Pratt.
    """
    last = value.rfind(_CUT)
    at = value.find(secret[:_SHORTEST], 0, last)
    if at < 0:
        return value
    secret = secret[:last]
    shorter = _shorter(secret)
    shown, done, fits = [], 0, 0
    while at <= last:
        letter = value[at]
        if letter == _CUT and fits >= _SHORTEST:
            shown += [value[done : max(done, at - fits)], HIDDEN]
            done = at
        while fits and (fits == len(secret) or secret[fits] != letter):
            fits = shorter[fits - 1]
        fits += secret[fits] == letter
        at += 1
    return "".join([*shown, value[done:]])


def _shorter(secret: str) -> list[int]:
    """The failure function of Knuth-Morris-Pratt for the secret."""
    found, fits = [0], 0
    for letter in secret[1:]:
        while fits and secret[fits] != letter:
            fits = found[fits - 1]
        fits += secret[fits] == letter
        found.append(fits)
    return found


def _params(given: Mapping[str, Any], secret: Collection[str], known: Sequence[str], largest: int) -> dict[str, Any]:
    shown = {
        _key(key, known): HIDDEN if key in secret or is_secret_param(key) else _value(value, known, largest)
        for key, value in islice(given.items(), largest)
    }
    if len(given) > largest:
        shown["…"] = f"[{len(given) - largest} more]"
    return shown


def _secret_values(given: Mapping[str, Any], secret: Collection[str]) -> Iterator[str | int | float]:
    for key, value in given.items():
        if key in secret or is_secret_param(key):
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


def is_secret_param(key: str) -> bool:
    """Whether the value of a parameter of this name is always hidden."""
    return _is_telling(key) if len(key) <= 64 else _SECRET_KEY.search(key, 0, _LONGEST_KEY) is not None


def is_secret_name(name: str) -> bool:
    """Whether a variable, header, option or URL part of this name holds a secret."""
    return is_secret_param(name) or _TELLING.search(name, 0, _LONGEST_KEY) is not None


def _query_hidden(found: re.Match[str]) -> str:
    is_one = len(found[3]) >= _SHORTEST and is_secret_name(unquote(found[2]))
    return f"{found[1]}{HIDDEN}" if is_one else found[0]


@functools.lru_cache(4_096)
def _is_telling(key: str) -> bool:
    """Cached: there are few parameter names, and every call asks."""
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
        return speech(remove(value, known) if known else value)
    if isinstance(value, Mapping):
        return _params(value, (), known, largest)
    if isinstance(value, list | tuple):
        if len(value) > largest:
            return f"[{len(value)} items]"
        return _listed(value, known, largest)
    return value


def _listed(values: Sequence[Any], known: Sequence[str], largest: int) -> list[Any]:
    """Redact a list item by item, including the value after `--token` or `--token=`.

    The value of an ambiguous option such as `--key` is hidden only when it is long enough to be a secret.
    """
    shown: list[Any] = []
    shortest: float = math.inf
    for item in values:
        word = item if isinstance(item, str) else ""
        joined = _OPTION.fullmatch(word) if word.startswith("-") else None
        if joined is not None and len(joined[2]) >= _shortest(joined[1]):
            shown.append(f"{joined[1]}{HIDDEN}")
        else:
            hidden = not word.startswith("-") and len(word) >= shortest
            shown.append(HIDDEN if hidden else _value(item, known, largest))
        shortest = _shortest(word) if word.startswith("-") and joined is None else math.inf
    return shown


def _shortest(option: str) -> float:
    """The length from which the value of an option is hidden."""
    name = option.strip("-=")
    return 1 if is_secret_param(name) else _SHORTEST if is_secret_name(name) else math.inf
