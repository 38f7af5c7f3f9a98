"""What stands before a call and makes an example or a quotation of it.

An AI that explains how a command is written, or tells what somebody else wrote, wants nothing to happen. Where that is
in doubt, nothing is run: an AI that was misunderstood can write its call again.
"""

from __future__ import annotations

import re

_TELLING = re.compile(
    r"\b(?:examples?|instance|e\.g\.|such as|like this|like so|syntax|formats?|templates?|usage|placeholder"
    r"|hypothetical(?:ly)?|said|says|saying|wrote|writes|asked|asks|quot(?:e|es|ed|ing)|message|reads|typed"
    r"|(?:you|one|people|users?|they) (?:can|could|may|might|would|should) (?:use|run|write|type|try|call|say|ask|send)"
    r"|looks? like|(?:do not|don't|never|not) (?:run|execute|use|call|write)|instead of)\b|\be\.g\.",
    re.IGNORECASE,
)
_LAST_LINE = re.compile(r"[^\n]*+\Z")
_EMPTY = re.compile(r"\n[ \t]*+\n")
_BEFORE = frozenset("\"'“”‘„«‹「『")
_MOST = 400


class Before:
    """The words before the next call: fed piece by piece, so that no part of an answer is looked at twice."""

    def __init__(self) -> None:
        self._tail = ""
        self._straight = 0
        self._curly = 0
        self._example = False

    def prose(self, text: str) -> None:
        """More words that are no call."""
        if not text:
            return
        parts = _EMPTY.split(text)
        if len(parts) > 1:
            self._straight = self._curly = 0
        last = parts[-1]
        self._straight += last.count('"')
        self._curly += sum(last.count(one) for one in "“«") - sum(last.count(one) for one in "”»")
        self._tail = (self._tail + text)[-_MOST:]
        if any(one.isalpha() for one in text[-_MOST:]):
            lead = self._tail.rstrip(" \t\n*_`")
            line = _LAST_LINE.search(lead)
            self._example = lead.endswith(":") and line is not None and bool(_TELLING.search(line[0]))

    def block(self) -> None:
        """An example that is complete in itself, such as a fence."""
        self._tail, self._example = "", False

    def call(self) -> None:
        """A call, or what would have been one."""
        self._tail = ""

    @property
    def is_example(self) -> bool:
        """Whether what comes is introduced as an example or as somebody's words."""
        return self._example

    @property
    def tells(self) -> bool:
        """Whether the line so far speaks of an example, so that what follows in the same line is one."""
        line = _LAST_LINE.search(self._tail)
        return line is not None and bool(_TELLING.search(line[0]))

    def quoted(self, closes: bool) -> bool:
        """Whether a quotation mark of this paragraph is open; `closes` says whether one comes that closes it."""
        return self._tail[-1:] in _BEFORE or (closes and (self._straight % 2 == 1 or self._curly > 0))
