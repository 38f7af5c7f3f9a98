"""Expands `${NAME}` in a server's entry, collects secrets, and finds secrets in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from doorward.core import redact
from doorward.core.redact import is_secret_name

_PIECES = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{")
_ORDINARY = re.compile(
    r"HOME|USER|LOGNAME|USERNAME|HOSTNAME|PWD|PATH|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|XDG_\w+"
)
"""Variables without secrets; masking their values would mask every path and name in a server's output."""
_OPTION = re.compile(r"-{1,2}([A-Za-z][\w-]*)=(.+)", re.DOTALL)
_PAIR = re.compile(r"(?:-{1,2}[A-Za-z][\w-]*=)?([A-Za-z][\w-]*)\s*[:=]\s*(\S.*)", re.DOTALL)
"""A header or variable in an argument, such as `Authorization: Bearer abc` after `--header`."""


class MalformedVariable(ValueError):
    """A text has `${` without a variable name."""


class Variables:
    """The variables of one entry: their values, missing ones, and the secrets in its texts."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._secrets: list[str] = []
        self.missing: list[str] = []
        """Names without a value and default, each once. An empty variable counts as missing."""

    def expand(self, text: str, *, secret: bool = True) -> str:
        """Expand the variables in a text. A missing variable stays as written and is recorded.

        A variable's value counts as a secret, unless the text is a path or the variable an ordinary one.
        """

        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            if name is None:
                if found[0] == "$$":
                    return "$"
                raise MalformedVariable
            given = self._environment.get(name, "")
            if given:
                if secret and not _ORDINARY.fullmatch(name):
                    self._secrets.append(given)
                return given
            if default is not None:
                return str(default).replace("$$", "$")
            if name not in self.missing:
                self.missing.append(name)
            return str(found[0])

        return _PIECES.sub(value, text) if "$" in text else text

    def add_secret(self, value: str) -> None:
        """Record a value from a secret field. For `Bearer abc`, `abc` is a secret too."""
        self._secrets += [value, *value.split()[1:]]

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets in every spelling that a message may contain, longest first."""
        return tuple(redact.collect_secrets({"secret": list(dict.fromkeys(self._secrets))}))


def find_variable_names(value: Any) -> Iterator[str]:
    """Yield the variables in a value's texts, without ordinary ones."""
    if isinstance(value, str):
        for found in _PIECES.finditer(value):
            if found[1] is not None and not _ORDINARY.fullmatch(found[1]):
                yield found[1]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from find_variable_names(item)


def find_secrets_in_words(words: tuple[str, ...]) -> list[str]:
    """Find the values of options such as `--api-key`, in one word or two, and of headers and variables in words."""
    found, before = [], ""
    for word in words:
        joined, pair = _OPTION.fullmatch(word), _PAIR.fullmatch(word)
        if joined is not None and is_secret_name(joined[1]):
            found.append(joined[2])
        elif before and not word.startswith("-"):
            found.append(word)
        elif pair is not None and is_secret_name(pair[1]):
            found.append(pair[2])
        before = word if word.startswith("-") and joined is None and is_secret_name(word.lstrip("-")) else ""
    return found


def find_secrets_in_url(url: str) -> list[str]:
    """Find the values of query parameters such as `token`."""
    return [value for name, value in parse_qsl(urlsplit(url).query) if is_secret_name(name)]


_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)
"""A URL with a password."""


def find_passwords(text: str) -> list[str]:
    """Find passwords in URLs such as `postgres://user:password@host`."""
    return _PASSWORD.findall(text)


def describe_plain_secrets(entry: Mapping[str, Any]) -> list[str]:
    """Clauses that say where an entry has secrets in plain text. The secrets are not quoted."""
    found = []
    for key, better in (("env", "${%s}"), ("headers", "a ${NAME}")):
        texts = entry.get(key, {})
        names = [
            name for name, text in texts.items() if _is_plain(text) and (is_secret_name(name) or find_passwords(text))
        ]
        if names:
            instead = better.replace("%s", names[0])
            which = ", ".join(names)
            found.append(f"{key} has {which} in plain text, which is stored in Doorward's file; {instead} is better")
    args = tuple(entry.get("args", ()))
    held = [*find_secrets_in_words(args), *(one for word in args for one in find_passwords(word))]
    auth = entry.get("auth") or {}
    for place, values in (
        ("args", held),
        ("url", find_secrets_in_url(entry.get("url", ""))),
        ("auth", [auth[key] for key in ("token", "clientSecret") if auth.get(key)]),
    ):
        if any(_is_plain(value) for value in values):
            found.append(f"{place} has a secret in plain text, which Doorward's file stores; a ${{NAME}} is better")
    return found


def _is_plain(text: str) -> bool:
    return bool(text) and "${" not in text
