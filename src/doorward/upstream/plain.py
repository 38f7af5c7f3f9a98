"""Finds secrets in plain text in an entry, so that people can be told to use a variable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doorward.redact import tells_of_a_secret
from doorward.upstream.variables import secrets_in_address, secrets_in_words

_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)
"""A URL with a password."""


def passwords(text: str) -> list[str]:
    """Find passwords in URLs such as `postgres://user:password@host`."""
    return _PASSWORD.findall(text)


def in_plain(entry: Mapping[str, Any]) -> list[str]:
    """Clauses that say where an entry has secrets in plain text. The secrets are not quoted."""
    found = []
    for key, better in (("env", "${%s}"), ("headers", "a ${NAME}")):
        texts = entry.get(key, {})
        names = [name for name, text in texts.items() if _bare(text) and (tells_of_a_secret(name) or passwords(text))]
        if names:
            instead = better.replace("%s", names[0])
            which = ", ".join(names)
            found.append(f"{key} has {which} in plain text, which is stored in Doorward's file; {instead} is better")
    args = tuple(entry.get("args", ()))
    held = [*secrets_in_words(args), *(one for word in args for one in passwords(word))]
    auth = entry.get("auth") or {}
    for place, values in (
        ("args", held),
        ("url", secrets_in_address(entry.get("url", ""))),
        ("auth", [auth[key] for key in ("token", "clientSecret") if auth.get(key)]),
    ):
        if any(_bare(value) for value in values):
            found.append(f"{place} has a secret in plain text, which Doorward's file stores; a ${{NAME}} is better")
    return found


def _bare(text: str) -> bool:
    return bool(text) and "${" not in text
