"""The top folders of mounted drafts, by descriptor: each draft keeps one number for as long as Doorward runs."""

from __future__ import annotations

import os
import tempfile


class DraftRoots:
    """A call may hold the path of a draft that is closed meanwhile. The number behind that path is never reused for
    something else: it then leads to a deleted folder, in which nothing can be found or created."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._open: set[str] = set()
        self._nowhere = -1

    def put(self, draft: str, root: int) -> None:
        """Make the draft's path lead to this folder, and close the descriptor."""
        self._open.add(draft)
        if draft in self._numbers:
            os.dup2(root, self._numbers[draft], inheritable=False)
            os.close(root)
        else:
            self._numbers[draft] = root

    def clear(self, draft: str) -> None:
        """Make the draft's path lead nowhere."""
        self._open.discard(draft)
        if self._nowhere < 0:
            folder = tempfile.mkdtemp(prefix="doorward-")
            self._nowhere = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.rmdir(folder)
        if draft in self._numbers:
            os.dup2(self._nowhere, self._numbers[draft], inheritable=False)

    def is_open(self, draft: str) -> bool:
        return draft in self._open

    def path(self, draft: str) -> str:
        return f"/proc/self/fd/{self._numbers[draft]}"

    def close(self) -> None:
        for number in (*self._numbers.values(), self._nowhere):
            if number >= 0:
                os.close(number)
        self._numbers.clear()
        self._nowhere = -1
