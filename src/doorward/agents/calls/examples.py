"""Detect text before a call that makes it an example or a quotation.

An AI that explains a command or reports what somebody wrote does not want to run it. In doubt, nothing is run: the AI
can write its call again.
"""

from __future__ import annotations

import re

_TELLING = re.compile(
    r"\b(?:(?:for|an|as an|another) example|for instance|examples? of|e\.g\.|such as|like this|like so|looks? like"
    r"|hypothetical(?:ly)?|placeholder|instead of|(?:do not|don't|never) (?:run|execute|use|call|write)"
    r"|(?:(?:you|one|people|users?|they|i|we) (?:could|may|might|would|should)|(?:you|one|people|users?|they) can)"
    r" (?:use|run|write|type|try|call|say|ask|send))"
    r"|\b(?:examples?|syntax|formats?|templates?|usage)(?: is| are| as follows| to use)?[\s.:]*$"
    r"|\b(?:said|says|saying|wrote|writes|typed|reads|contains|holds|printed|prints|returned|replied|answered"
    r"|quot(?:e|es|ed|ing)|(?<!you )asked)(?: [\w'’.-]+){0,3}[\s.:]*$",
    re.IGNORECASE,
)
"""Words that introduce an example or a quotation. Those after the first part count only near the end of a line."""
_LETTER = re.compile(r"[^\W\d_]")
_BEFORE = frozenset("\"'“”‘„«‹「『")
_MOST = 400


class Before:
    """The text before the next call, added piece by piece so that no part of an answer is scanned twice."""

    def __init__(self) -> None:
        self._tail = ""
        self._straight = 0
        self._curly = 0
        self._example = False
        self._more = False

    def prose(self, text: str) -> None:
        """Add text that is not a call."""
        last = text.rfind("\n\n")
        if last >= 0:
            self._straight = self._curly = 0
        self._straight += text.count('"', last + 1)
        self._curly += sum(text.count(one, last + 1) for one in "“«") - sum(text.count(one, last + 1) for one in "”»")
        self._tail = (self._tail + text[-_MOST:])[-_MOST:]
        self._more = self._more or _LETTER.search(text) is not None

    def block(self) -> None:
        """Add a complete example, such as a fenced block."""
        self._tail, self._example, self._more = "", False, False

    def call(self) -> None:
        """Add a call. An introduction applies to all calls that follow it without text in between."""
        self._tail, self._more = "", False

    @property
    def is_example(self) -> bool:
        """Whether the next call is introduced as an example or a quotation."""
        if self._more:
            lead = self._tail.rstrip(" \t\r\n*_`")
            self._example = lead.endswith(":") and _TELLING.search(lead.rpartition("\n")[2]) is not None
            self._more = False
        return self._example

    @property
    def tells(self) -> bool:
        """Whether the current line introduces an example, so that a call on the same line is one."""
        return _TELLING.search(self._tail.rpartition("\n")[2]) is not None

    def quoted(self, closes: bool) -> bool:
        """Whether a quotation mark of this paragraph is open; `closes` says whether a closing one follows."""
        return self._tail[-1:] in _BEFORE or (closes and (self._straight % 2 == 1 or self._curly > 0))
