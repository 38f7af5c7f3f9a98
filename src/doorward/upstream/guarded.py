"""Telling listeners: one that breaks must not end the connection of everybody else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)


def guarded(listener: Callable[..., None], *told: Any) -> None:
    try:
        listener(*told)
    except Exception:
        log.exception("whoever listens to an upstream server broke")
