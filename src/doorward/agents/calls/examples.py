"""What stands before a call and makes an example or a quotation of it.

An AI that explains how a command is written, or tells what somebody else wrote, wants nothing to happen. Where that is
in doubt, nothing is run: an AI that was misunderstood can write its call again.
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
"""Words that introduce an example or a quotation; those of the latter parts only near the end of their line."""
_LETTER = re.compile(r"[^\W\d_]")
_BEFORE = frozenset("\"'“”‘„«‹「『")
_MOST = 400


class Before:
    """The words before the next call: fed piece by piece, so that no part of an answer is looked at twice."""

    def __init__(self) -> None:
        self._tail = ""
        self._straight = 0
        self._curly = 0
        self._example = False
        self._more = False

    def prose(self, text: str) -> None:
        """More words that are no call."""
        last = text.rfind("\n\n")
        if last >= 0:
            self._straight = self._curly = 0
        self._straight += text.count('"', last + 1)
        self._curly += sum(text.count(one, last + 1) for one in "“«") - sum(text.count(one, last + 1) for one in "”»")
        self._tail = (self._tail + text[-_MOST:])[-_MOST:]
        self._more = self._more or _LETTER.search(text) is not None

    def block(self) -> None:
        """An example that is complete in itself, such as a fence."""
        self._tail, self._example, self._more = "", False, False

    def call(self) -> None:
        """A call, or what would have been one. An introduction holds for all that follow it without words between."""
        self._tail, self._more = "", False

    @property
    def is_example(self) -> bool:
        """Whether what comes is introduced as an example or as somebody's words."""
        if self._more:
            lead = self._tail.rstrip(" \t\r\n*_`")
            self._example = lead.endswith(":") and _TELLING.search(lead.rpartition("\n")[2]) is not None
            self._more = False
        return self._example

    @property
    def tells(self) -> bool:
        """Whether the line so far speaks of an example, so that what follows in the same line is one."""
        return _TELLING.search(self._tail.rpartition("\n")[2]) is not None

    def quoted(self, closes: bool) -> bool:
        """Whether a quotation mark of this paragraph is open; `closes` says whether one comes that closes it."""
        return self._tail[-1:] in _BEFORE or (closes and (self._straight % 2 == 1 or self._curly > 0))
