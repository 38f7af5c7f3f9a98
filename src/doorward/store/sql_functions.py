"""Doorward's own SQL functions: patterns, record access and redaction.

They know no caller; everything they decide on is an argument.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec
import re2

from doorward.core import redact
from doorward.core.strictjson import DECODE_ERRORS
from doorward.store import acl

MATCHES = "doorward_matches"
BODY_RIGHTS = "doorward_body_rights"
LIST_RIGHTS = "doorward_list_rights"
REDACTED = "doorward_redacted"

Secrets = Mapping[str, frozenset[str]]
"""The secret parameters of each command, by command name."""

_decode = msgspec.json.Decoder().decode


def install(db: sqlite3.Connection, secrets: Secrets) -> None:
    db.create_function(MATCHES, 2, _matches, deterministic=True)
    db.create_function(BODY_RIGHTS, 3, _body_rights, deterministic=True)
    db.create_function(LIST_RIGHTS, 6, _list_rights, deterministic=True)
    db.create_function(REDACTED, 2, functools.partial(_redact, secrets), deterministic=True)


@functools.lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """Compile a pattern that matches in linear time; raises `re2.error` if it is not valid."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return re2.compile(text, options)


def _matches(text: str, value: Any) -> bool:
    return isinstance(value, str) and pattern(text).search(value) is not None


def _body_rights(body: str, identities: str, level: int) -> int:
    try:
        lists = _decode(body)
    except DECODE_ERRORS:
        return acl.NONE
    return acl.rights(lists, _decode(identities), level) if isinstance(lists, dict) else acl.NONE


def _list_rights(read: Any, edit: Any, full: Any, deny: Any, identities: str, level: int) -> int:
    return acl.rights(column_lists((read, edit, full, deny)), _decode(identities), level)


def column_lists(columns: tuple[Any, ...]) -> dict[str, Any]:
    """Access lists stored as JSON in table columns. A malformed one is returned as is; `acl.rights` fails closed."""
    return {name: _column_list(value) for name, value in zip(acl.LISTS, columns, strict=True)}


def _column_list(value: Any) -> Any:
    if value is None or value == "":
        return None
    try:
        return _decode(value)
    except (*DECODE_ERRORS, TypeError):
        return value


def _redact(secrets: Secrets, command: str, params: str) -> str:
    try:
        given = _decode(params)
    except DECODE_ERRORS:
        given = None
    if not isinstance(given, dict):
        return msgspec.json.encode(redact.HIDDEN).decode()
    return msgspec.json.encode(redact.params(given, secrets.get(command, frozenset()))).decode()
