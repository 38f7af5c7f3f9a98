"""Keeps secrets out of everything that is written down, sent on or shown to a model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any

HIDDEN = "[redacted]"

_SECRET_KEY = re.compile(
    r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie|credential",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"  # JSON web tokens
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"  # keys of model and payment services
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",  # user:password in an address
    re.DOTALL,
)
_ASSIGNED = re.compile(
    r"(?i)\b([\w-]*(?:password|passwd|secret|token|api[_-]?key)[\w-]*)(\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)"
)


def text(value: str) -> str:
    """A text with everything that looks like a secret hidden."""
    value = _SECRET_VALUE.sub(HIDDEN, value)
    return _ASSIGNED.sub(lambda match: f"{match[1]}{match[2]}{HIDDEN}", value)


def params(given: Mapping[str, Any], secret: Collection[str] = (), *, largest: int = 2_000) -> dict[str, Any]:
    """Parameters as they may be recorded: secrets hidden, long values reduced to size and hash."""
    return {
        key: HIDDEN if key in secret or _SECRET_KEY.search(key) else _value(value, largest)
        for key, value in given.items()
    }


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
