"""Hides secrets in the output of a program, also where a piece ends inside one."""

from __future__ import annotations

from doorward.core.redact import HIDDEN


class OutputFilter:
    def __init__(self, secrets: tuple[bytes, ...]) -> None:
        self._secrets = secrets
        self._rest = b""
        """The end of the output so far, if a secret may begin there."""

    def hide(self, piece: bytes) -> bytes:
        """The output that is complete with this piece."""
        text = self._rest + piece
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN.encode())
        held = max((_count_begun(text, secret) for secret in self._secrets), default=0)
        self._rest = text[len(text) - held :]
        return text[: len(text) - held]

    def finish(self) -> bytes:
        """The rest of the output, in which no secret is complete."""
        rest, self._rest = self._rest, b""
        return rest


def _count_begun(text: bytes, secret: bytes) -> int:
    """How many bytes at the end of the text are the beginning of the secret."""
    most = min(len(text), len(secret) - 1)
    return next((count for count in range(most, 0, -1) if text.endswith(secret[:count])), 0)
