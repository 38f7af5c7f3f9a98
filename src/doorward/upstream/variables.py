"""`${NAME}` in the texts of a server's entry: replaced from the environment, and watched for secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from doorward import redact
from doorward.redact import tells_of_a_secret

_PIECES = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{")
_ORDINARY = re.compile(
    r"HOME|USER|LOGNAME|USERNAME|HOSTNAME|PWD|PATH|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|XDG_\w+"
)
"""Variables that hold no secret; hiding their values would hide every path and name in what a server says."""
_OPTION = re.compile(r"-{1,2}([A-Za-z][\w-]*)=(.+)", re.DOTALL)
_PAIR = re.compile(r"(?:-{1,2}[A-Za-z][\w-]*=)?([A-Za-z][\w-]*)\s*[:=]\s*(\S.*)", re.DOTALL)
"""A header or a variable that a program passes on, such as `Authorization: Bearer abc` behind `--header`."""


class Malformed(ValueError):
    """A text has `${` and no variable behind it."""


class Variables:
    """The variables of one entry: what they stood for, which were missing, and what is secret in the texts."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._secrets: list[str] = []
        self.missing: list[str] = []
        """The names without a value and without a default, each once. One that is set to nothing has no value."""

    def expanded(self, text: str, *, secret: bool = True) -> str:
        """The text with its variables replaced; one that is missing stays as it is written, and is noted.

        What a variable stood for counts as a secret, unless the text is a path or the variable an ordinary one.
        """

        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            if name is None:
                if found[0] == "$$":
                    return "$"
                raise Malformed
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

    def hide(self, value: str) -> None:
        """This value is a secret by the place where it stands; of `Bearer abc` so is `abc`."""
        self._secrets += [value, *value.split()[1:]]

    @property
    def secrets(self) -> tuple[str, ...]:
        """All of them, in every spelling in which a sentence may quote them, the longest first."""
        return tuple(redact.secrets({"secret": list(dict.fromkeys(self._secrets))}))


def names_in(value: Any) -> Iterator[str]:
    """The variables, beside ordinary ones, that the texts in a value take from the environment."""
    if isinstance(value, str):
        for found in _PIECES.finditer(value):
            if found[1] is not None and not _ORDINARY.fullmatch(found[1]):
                yield found[1]
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from names_in(item)


def secrets_in_words(words: tuple[str, ...]) -> list[str]:
    """The values behind options such as `--api-key`, in one word or in two, and behind the names of headers and
    variables in words."""
    found, before = [], ""
    for word in words:
        joined, pair = _OPTION.fullmatch(word), _PAIR.fullmatch(word)
        if joined is not None and tells_of_a_secret(joined[1]):
            found.append(joined[2])
        elif before and not word.startswith("-"):
            found.append(word)
        elif pair is not None and tells_of_a_secret(pair[1]):
            found.append(pair[2])
        before = word if word.startswith("-") and joined is None and tells_of_a_secret(word.lstrip("-")) else ""
    return found


def secrets_in_address(url: str) -> list[str]:
    """The values of query parameters such as `token`."""
    return [value for name, value in parse_qsl(urlsplit(url).query) if tells_of_a_secret(name)]
