"""Doorward's own log: one JSON object a line, in the home folder, without secrets."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path

import msgspec

from doorward.core import redact
from doorward.core.clock import to_iso
from doorward.core.errors import Unusable
from doorward.core.escape_invisible import to_storable

LOG_FILE = Path("logs") / "doorward.log"
SECRETS = "secrets"
"""The key in a message's `extra` that lists secrets to redact."""
_LARGEST = 10_000_000
_KEPT = 3
_LOGGERS = {"doorward": logging.INFO, "uvicorn": logging.WARNING}
"""Our loggers, and the HTTP server's, which would otherwise write what strangers send to the terminal."""


class JsonLines(logging.Formatter):
    """One JSON line per message, with secrets redacted."""

    def format(self, record: logging.LogRecord) -> str:
        known = getattr(record, SECRETS, ())
        line = {
            "at": to_iso(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": _clean(record.getMessage(), known),
        }
        if record.exc_info:
            line["trace"] = _clean("".join(traceback.format_exception(*record.exc_info)), known)
        return msgspec.json.encode(line).decode()


class LogFile(RotatingFileHandler):
    """The log file. Lines that cannot be written, as on a full disk, are dropped."""

    def handleError(self, record: logging.LogRecord) -> None:
        return


def write_to(home: Path) -> logging.Handler:
    """Send Doorward's log to its file; returns the handler, to be closed with `stop`."""
    file = home / LOG_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unusable(
            f"The folder {file.parent} for the log cannot be made: {error.strerror}.",
            hint="Make the home folder writable for this account.",
        ) from error
    handler = LogFile(file, maxBytes=_LARGEST, backupCount=_KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(JsonLines())
    for name, level in _LOGGERS.items():
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
    return handler


def stop(handler: logging.Handler) -> None:
    for name in _LOGGERS:
        logging.getLogger(name).removeHandler(handler)
    with contextlib.suppress(OSError):  # the last lines may not fit on a full disk
        handler.close()


def _clean(text: str, known: Sequence[str]) -> str:
    return to_storable(redact.text(text, known))
