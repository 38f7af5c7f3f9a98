"""Calls listeners so that an exception in one does not break the connection."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)


def guarded(listener: Callable[..., None], *told: Any) -> None:
    try:
        listener(*told)
    except Exception:
        log.exception("a listener of an upstream server raised an exception")
