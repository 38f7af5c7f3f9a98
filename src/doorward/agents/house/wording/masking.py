"""Names of files, quotations and ids put aside, so that no rule about words touches what is meant literally."""

from __future__ import annotations

import re

from doorward.agents.house.entities.scanning import scanned

_ID = re.compile(r"[a-z]{1,12}-\d[\w-]*", re.IGNORECASE)
_MARKS = {"quoted": "\ue000", "path": "\ue001", "glob": "\ue003", "email": "\ue000", "url": "\ue000"}
_ID_MARK, _END = "\ue004", "\ue002"
_ANY = re.compile("[\ue000\ue001\ue003\ue004](\\d+)\ue002")
_PRIVATE = re.compile("[\ue000-\ue004]")
MACROS = {"%Q%": "\ue000\\d+\ue002", "%P%": "\ue001\\d+\ue002", "%G%": "\ue003\\d+\ue002", "%I%": "\ue004\\d+\ue002"}
"""What rules call them: a quotation, a path, a pattern for names, an id."""


class Masked:
    """A text with what is literal put aside, and the way back."""

    def __init__(self, text: str) -> None:
        text = _PRIVATE.sub(" ", text)
        self._kept: list[str] = []
        made, at = [], 0
        for token in scanned(text):
            mark = _MARKS.get(token.shape, "")
            if token.shape == "word" and _ID.fullmatch(token.text):
                mark = _ID_MARK
            if not mark:
                continue
            made.append(text[at : token.start] + f"{mark}{len(self._kept)}{_END}")
            self._kept.append(text[token.start : token.end])
            at = token.end
        self.text = "".join(made) + text[at:]

    def back(self, text: str) -> str:
        """A text with everything that is literal in it again."""
        return _ANY.sub(lambda found: self._kept[int(found[1])] if int(found[1]) < len(self._kept) else "", text)


def compiled(pattern: str) -> re.Pattern[str]:
    for name, meaning in MACROS.items():
        pattern = pattern.replace(name, meaning)
    return re.compile(pattern, re.IGNORECASE)
