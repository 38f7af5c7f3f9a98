"""The error for an invalid configuration file."""

from __future__ import annotations

from typing import ClassVar

from doorward.errors import Unusable


class BadFile(Unusable):
    """An invalid configuration file; the message names the file, the field and the reason."""

    what: ClassVar[str] = "file"
    hint_of: ClassVar[str] = ""

    def __init__(self, file: str, field: str, reason: str) -> None:
        where = f" at {field}" if field else ""
        stop = "" if reason.endswith((".", "?")) else "."
        super().__init__(f"The {self.what} {file} is not valid{where}: {reason}{stop}", hint=self.hint_of)
        self.file = file
        self.field = field
        self.reason = reason
